// Biases that name their weight.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <dsop/counting.hpp>

#include "sent_by_calls.hpp"
#include "synchronizer_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

/// A layer with biases: of its errors, which are b, and of its inputs as if they were errors.
struct WithBiases {
  explicit WithBiases(int rank) : factors(1, rank, static_cast<std::size_t>(rank) + 1, 20, 30) {}

  void add_to(Synchronizer<float>& synchronizer, bool by_name) const {
    synchronizer.add("w", {20, 30, 8, 1, 1, 2}, "dsop:allgather");
    synchronizer.add("of_b", {1, 30, 0}, "dsop", {by_name ? "w" : "", 'b'});
    synchronizer.add("other", {20, 30, 8, 1, 1, 2}, "dsop:allgather");
    synchronizer.add("of_a", {1, 20, 0}, "dsop", {by_name ? "other" : "", 'a'});
  }
  /// The sums of this rank's columns, which become those of all ranks.
  void give_biases(Synchronizer<float>& synchronizer) {
    of_b = column_sums(factors.view().b);
    of_a = column_sums(factors.view().a);
    synchronizer.give("of_b", {of_b.data(), 1, 30});
    synchronizer.give("of_a", {of_a.data(), 1, 20});
  }
  void give_weights(Synchronizer<float>& synchronizer) {
    synchronizer.give("w", factors.view(), {w.data(), 20, 30});
    synchronizer.give("other", factors.view(), {other.data(), 20, 30});
  }
  static std::vector<float> column_sums(MatrixView<const float> matrix) {
    std::vector<float> sums(matrix.columns);
    for (std::size_t p = 0; p < matrix.rows; ++p)
      for (std::size_t j = 0; j < matrix.columns; ++j) sums[j] += matrix.row(p)[j];
    return sums;
  }

  bench::InputFactors<float> factors;
  std::vector<float> w = std::vector<float>(600), other = std::vector<float>(600), of_b = {}, of_a = {};
};

}  // namespace

TEST_CASE("a bias that names its weight is the errors' column sums, and costs nothing where these are gathered") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          std::vector<float> of_b(30), of_a(20);
          for (int r = 0; r < 3; ++r) {
            const WithBiases theirs(r);
            std::ranges::transform(of_b, WithBiases::column_sums(theirs.factors.view().b), of_b.begin(), std::plus());
            std::ranges::transform(of_a, WithBiases::column_sums(theirs.factors.view().a), of_a.begin(), std::plus());
          }
          enum class Given { before, after, without_weights };
          const auto payload = [&](bool by_name, Given given) {
            CountingTransport counting(transport);
            WithBiases layer(transport.rank());
            Synchronizer<float> synchronizer(counting);
            layer.add_to(synchronizer, by_name);
            Traffic before;
            for (int step = 0; step < 3; ++step) {
              before = counting.payload();
              synchronizer.begin();
              if (given == Given::after) layer.give_weights(synchronizer);
              layer.give_biases(synchronizer);
              if (given == Given::before) layer.give_weights(synchronizer);
              synchronizer.finish();
              failures.check(layer.of_b == of_b && layer.of_a == of_a, "wrong sums: " + synchronizer.describe());
            }
            const std::string description = synchronizer.describe();
            std::istringstream lines(description);
            bool is_measured = given == Given::without_weights;
            for (std::string line; std::getline(lines, line);)  // predicted, measured and last
              is_measured |= line.starts_with("bucket 1 ") && line.find(" ms  ") != line.rfind(" ms  ");
            failures.check(is_measured, "nothing was measured: " + description);
            const bool follows = synchronizer.describe().find("column sums of w") != std::string::npos;
            failures.check(follows == (by_name && given == Given::before), synchronizer.describe());
            return counting.payload().bytes - before.bytes;
          };
          const std::size_t following = payload(true, Given::before);
          failures.check(following < payload(false, Given::before), "as many bytes as of any gradient");
          payload(true, Given::after);
          payload(true, Given::without_weights);
        }) == "");
}

TEST_CASE("a bias that can't be its weight's is refused on all ranks") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport);
          synchronizer.add("w", {20, 30, 8}, "dsop");
          const auto refused = [&](const Shape& shape, const BiasOf& bias_of, const std::string& expected) {
            const std::string error = argument_error_of([&] { synchronizer.add("bias", shape, "dsop", bias_of); });
            failures.check(error.find(expected) != std::string::npos, error);
          };
          refused({1, 30, 0}, {"v", 'b'}, "parameter bias: bias_of is v, expected one that add() has registered");
          refused({1, 20, 0}, {"w", 'b'}, "columns is 20, expected the 30 of w's errors");
          refused({2, 30, 0}, {"w", 'b'}, "rows is 2, expected 1, of a bias");
          refused({1, 30, 0}, {"w", 'c'}, "errors is c, expected a or b");
          refused({1, 30, 0}, {transport.rank() == 0 ? "w" : "", 'b'}, "the ranks disagree: bias_of is ");
          synchronizer.add("bias", {1, 30, 0}, "dsop", {"w", 'b'});
          const std::string second = argument_error_of([&] {
            synchronizer.add("another", {1, 20, 0}, "dsop", {"w", 'a'});
          });
          failures.check(second.find("bias_of is w, expected one without a bias: it has bias") != std::string::npos,
                         second);
        }) == "");
}
