// A factor that several layers of a bucket have: it travels once.
#include <catch2/catch.hpp>

#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include <dsop/counting.hpp>

#include "algorithms/outer_product/factor_bucket.hpp"
#include "synchronizer_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

constexpr std::size_t k = 3, n = 40, m = 72;

/// Layers of one shape, which a bucket holds together.
struct Layers {
  Layers(Transport& transport, std::size_t count, const std::string& policy)
      : counting(transport), synchronizer(counting), G(count * n * m) {
    for (std::size_t i = 0; i < count; ++i) {
      synchronizer.add("w" + std::to_string(i), {n, m, k}, policy);
      inputs.emplace_back(i, transport.rank(), k, n, m, bench::Values::whole);
    }
  }

  /// Each layer's own a, and for each the b that is named. Returns the bytes that this rank sends.
  std::size_t sent_with(const std::vector<MatrixView<const float>>& b) {
    const std::size_t before = counting.payload().bytes;
    synchronizer.begin();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      synchronizer.give("w" + std::to_string(i), {inputs[i].view().a, b[i]}, {G.data() + i * n * m, n, m});
    synchronizer.finish();
    return counting.payload().bytes - before;
  }
  /// What it sends where so many of b travel.
  std::size_t expected(std::size_t b) const {
    const std::size_t elements = k * (inputs.size() * n + b * m);
    return static_cast<std::size_t>(counting.size() - 1) *
           (inputs.size() * sizeof(FactorBucketProblem::Heading) + elements * sizeof(float));
  }

  CountingTransport counting;
  Synchronizer<float> synchronizer;
  std::deque<bench::InputFactors<float>> inputs;
  std::vector<float> G;
};

}  // namespace

TEST_CASE("a factor that several layers of a bucket have travels once, also where ranks share it differently") {
  const int P = GENERATE(2, 3, 5);
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          Layers layers(transport, 3, "dsop:allgather-ring");
          const auto shared = layers.inputs[0].view().b;
          const bench::InputFactors<float> copy(0, transport.rank(), k, n, m, bench::Values::whole);
          failures.check(layers.sent_with({shared, shared, shared}) == layers.expected(1), "it is not sent once");
          const std::vector<float> once = layers.G;
          const auto others = static_cast<std::size_t>(transport.size() - 1);
          const std::string description = layers.synchronizer.describe();
          failures.check(has_number(description, others * k * n * sizeof(float)), description);
          failures.check(layers.sent_with({shared, copy.view().b, shared}) == layers.expected(2), "a copy is not sent");
          failures.check(layers.G == once, "another sum with a copy");
          layers.sent_with({shared, transport.rank() % 2 == 0 ? shared : copy.view().b, shared});
          failures.check(layers.G == once, "another sum where ranks share differently");

          Layers riding(transport, 3, "dsop:allgather");
          for (int step = 0; step < 4; ++step) {
            std::ranges::fill(riding.G, 1.0F);
            const std::size_t messages = riding.counting.payload().messages;
            riding.sent_with({shared, shared, shared});
            failures.check(riding.G == once, "another sum");
            failures.check(step < 3 || riding.counting.payload().messages == messages,
                           "it does not ride in the agreement");
          }
        }) == "");
}

TEST_CASE("factors are shared that are one matrix, with at most three layers between") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Layers two(transport, 2, "dsop:allgather-ring");
          std::vector<float> memory(k * (m + 1));
          std::iota(memory.begin(), memory.end(), 0.0F);
          const MatrixView<const float> dense{memory.data(), k, m}, gaps{memory.data(), k, m, m + 1};
          failures.check(two.sent_with({gaps, gaps}) == two.expected(1), "one with gaps is sent twice");
          failures.check(two.sent_with({dense, gaps}) == two.expected(2), "another stride is not sent");

          Layers many(transport, 6, "dsop:allgather-ring");
          std::vector<MatrixView<const float>> b;
          for (const bench::InputFactors<float>& input : many.inputs) b.push_back(input.view().b);
          b[5] = b[1];
          failures.check(many.sent_with(b) == many.expected(5), "the fourth before is not found");
          b[5] = b[0];
          failures.check(many.sent_with(b) == many.expected(6), "the fifth before is found");
        }) == "");
}

TEST_CASE("a shared factor costs fewer bytes, and as much arithmetic") {
  FactorBucketProblem own;
  for (int i = 0; i < 3; ++i) own.add({n, m}, {k, k, k, k});
  FactorBucketProblem shared = own;
  for (std::size_t& elements : shared.elements) elements -= 2 * k * m;
  const Cost cost = make_factor_bucket_plan(own, Machine{}, "auto").cost;
  const Cost less = make_factor_bucket_plan(shared, Machine{}, "auto").cost;
  CHECK(less.bytes < cost.bytes);
  CHECK(less.flops == cost.flops);
  CHECK(cost.flops == 2.0 * 3 * 4 * k * n * m);
}
