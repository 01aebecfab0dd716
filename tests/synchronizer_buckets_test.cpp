// Small layers' factors that travel together: which they are, when they are sent, and what that costs.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <dsop/counting.hpp>

#include "algorithms/outer_product/factor_bucket.hpp"
#include "call/communicator.hpp"
#include "sent_by_calls.hpp"
#include "synchronizer_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

/// The same factors of all layers, each in memory of its own.
struct Squares {
  Squares(int rank, std::size_t count_, std::size_t pairs_, std::size_t width_)
      : count(count_), pairs(pairs_), width(width_), G(count * width * width) {
    for (std::size_t i = 0; i < count; ++i) factors.emplace_back(1, rank, pairs, width, width);
  }

  static std::string name(std::size_t layer) { return "w" + std::to_string(layer); }
  void add_to(Synchronizer<float>& synchronizer, const std::string& policy) const {
    for (std::size_t i = 0; i < count; ++i)
      synchronizer.add(name(i), {width, width, std::max(pairs, most_pairs)}, policy);
  }
  void give_one(Synchronizer<float>& synchronizer, std::size_t i) {
    synchronizer.give(name(i), factors[i].view(), {G.data() + i * width * width, width, width});
  }
  void step(Synchronizer<float>& synchronizer) {
    synchronizer.begin();
    for (std::size_t i = count; i-- > 0;) give_one(synchronizer, i);
    synchronizer.finish();
  }

  std::size_t count, pairs, width, most_pairs = 0;
  std::vector<bench::InputFactors<float>> factors;
  std::vector<float> G;
};

}  // namespace

TEST_CASE("a hundred small layers take the messages of one allgather and one agreement, and the stated bytes") {
  const int P = GENERATE(2, 5, 8);
  for (const std::string policy : {"dsop:allgather", "dsop", "dsop:allgather-ring"})
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            CountingTransport counting(transport);
            Squares layers(transport.rank(), 100, 1, 64);
            layers.most_pairs = 3;  // they give fewer
            SynchronizerOptions options{.bucket_bytes = std::size_t{1} << 26};
            options.machine = Machine{};
            Synchronizer<float> synchronizer(counting, options);
            layers.add_to(synchronizer, policy);
            layers.step(synchronizer);
            const Traffic payload = counting.payload();
            const Traffic agreement = counting.agreement();
            layers.step(synchronizer);
            FactorBucketProblem problem{.group = attachment<CommunicatorState>(counting).ranks.group};
            for (std::size_t i = 0; i < layers.count; ++i)
              problem.add({64, 64}, std::vector<std::size_t>(static_cast<std::size_t>(transport.size()), 1));
            const std::string algorithm = policy.size() > 5 ? policy.substr(5) : "auto";
            const FactorBucketPlan plan = make_factor_bucket_plan(problem, Machine{}, algorithm);
            const std::size_t agreeing = counting.agreement().messages - agreement.messages;
            std::size_t rounds = 0;
            while (1 << rounds < transport.size()) ++rounds;
            // The bucket's, and that of the end of every step.
            failures.check(agreeing == 2 * rounds, std::to_string(agreeing) + " messages agree");
            SentByCalls sent;
            sent.add({counting.payload().messages - payload.messages, counting.payload().bytes - payload.bytes},
                     plan.cost, policy);
            sent.check_busiest(transport, [&](const std::string& text) { failures.add(text); });
            const std::string description = synchronizer.describe();
            failures.check(description.find("bucket 1 ") != std::string::npos &&
                               description.find("bucket 2 ") == std::string::npos &&
                               description.find(' ' + std::to_string(plan.cost.bytes) + ' ') != std::string::npos,
                           description);
            const auto others = static_cast<std::size_t>(transport.size() - 1);
            failures.check(has_number(description, others * 128 * sizeof(float)), description);  // of each layer
          }) == "");
}

TEST_CASE("a bucket of few factors rides in its agreement") {
  CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
          CountingTransport counting(transport);
          Squares layers(transport.rank(), 20, 2, 8);
          Synchronizer<float> synchronizer(counting);
          layers.add_to(synchronizer, "dsop:allgather");
          std::size_t messages = 0;
          std::vector<float> first;
          for (int step = 0; step < 4; ++step) {
            messages = counting.payload().messages;
            layers.step(synchronizer);
            if (step == 0) first = layers.G;
            failures.check(layers.G == first, "another sum");
          }
          failures.check(counting.payload().messages == messages, "the last step sends messages");
          failures.check(synchronizer.describe().find("bucket 1 ") != std::string::npos, synchronizer.describe());
        }) == "");
}

namespace {

/// Whether the element comes to be that while nobody calls anything.
bool becomes(float& element, float expected) {
  auto& shared = reinterpret_cast<std::atomic<float>&>(element);  // read while the thread may write it
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (shared.load() != expected && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return shared.load() == expected;
}

}  // namespace

TEST_CASE("a bucket is sent when the last that shared it in the step before has been given", "[peeks]") {
  const bool by_factors = GENERATE(true, false);
  const std::string policy = by_factors ? "dsop:allgather" : "dsop";
  const std::size_t pairs = by_factors ? 1 : 60;
  INFO(policy);
  CHECK(failures_on_threads(4, [&](Transport& transport, Failures& failures) {
          Squares layers(transport.rank(), 3, pairs, 30);
          std::vector<float> first(1);
          SynchronizerOptions options;
          options.machine = Machine{};
          Synchronizer<float> synchronizer(transport, options);
          synchronizer.add("first", {.rows = 1, .columns = 1, .max_pairs = 0}, "dense:ring");
          layers.add_to(synchronizer, policy);
          synchronizer.add("never given", {30, 30, pairs}, policy);
          layers.step(synchronizer);
          const std::string algorithm = synchronizer.last_step("w0").algorithm;
          failures.check(algorithm.starts_with(by_factors ? "allgather" : "allreduce-"), algorithm);
          const float expected = layers.G[0];
          for (int step = 0; step < 2; ++step) {  // what alternates with it does not matter
            synchronizer.begin();
            synchronizer.give("first", {first.data(), 1, 1});
            synchronizer.finish();
            std::ranges::fill(layers.G, 1000.0F);
            synchronizer.begin();
            for (std::size_t i = 3; i-- > 0;) layers.give_one(synchronizer, i);
            failures.check(becomes(layers.G[0], expected), "nothing happened");
            synchronizer.give("first", {first.data(), 1, 1});
            synchronizer.finish();
          }
        }) == "");
}

TEST_CASE("a step's first bucket of factors is small, so that it is sent while others are given", "[peeks]") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Squares layers(transport.rank(), 20, 4, 64);
          Synchronizer<float> synchronizer(transport);
          layers.add_to(synchronizer, "dsop:allgather");
          layers.step(synchronizer);
          const std::string description = synchronizer.describe();
          failures.check(
              description.find("bucket 2 ") != std::string::npos && description.find("bucket 3 ") == std::string::npos,
              description);
          float& element = layers.G[19 * 64 * 64];
          const float expected = element;
          element = 1000;
          synchronizer.begin();
          for (std::size_t i = 20; i-- > 1;) layers.give_one(synchronizer, i);
          failures.check(becomes(element, expected), "nothing happened");
          layers.give_one(synchronizer, 0);
          synchronizer.finish();
        }) == "");
}

TEST_CASE("a small layer whose gradient is cheaper than its factors joins the bucket of gradients") {
  CHECK(failures_on_threads(4, [](Transport& transport, Failures& failures) {
          SynchronizerOptions options;
          options.machine = Machine{};
          Synchronizer<float> synchronizer(transport, options);
          Squares few(transport.rank(), 2, 1, 64);
          const bench::InputFactors<float> many(1, transport.rank(), 60, 30, 30);
          std::vector<float> G(900), bias(30);
          few.add_to(synchronizer, "dsop");
          synchronizer.add("many", {30, 30, 60}, "dsop");
          synchronizer.add("bias", {.rows = 1, .columns = 30, .max_pairs = 0}, "dsop");
          synchronizer.begin();
          synchronizer.give("bias", {bias.data(), 1, 30});
          synchronizer.give("many", many.view(), {G.data(), 30, 30});
          for (std::size_t i = 0; i < 2; ++i) few.give_one(synchronizer, i);
          synchronizer.finish();
          const std::string description = synchronizer.describe();
          failures.check(synchronizer.last_step("w0").algorithm == "allgather", description);
          failures.check(
              synchronizer.last_step("many").algorithm == "allreduce-" + synchronizer.last_step("bias").algorithm,
              description);
          failures.check(description.find("in bucket 1") != std::string::npos &&
                             description.find("in bucket 2") != std::string::npos,
                         description);
        }) == "");
}

TEST_CASE("sparse factors of some rank keep the layers of their bucket out of it, and cost what they cost alone") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const int r = transport.rank();
          CountingTransport counting(transport);
          Synchronizer<float> synchronizer(counting);
          synchronizer.add("sparse", {.rows = 400, .columns = 2, .max_pairs = 4}, "dsop:allgather");
          synchronizer.add("bias", {.rows = 1, .columns = 2, .max_pairs = 0}, "dsop", {"sparse", 'b'});
          synchronizer.add("dense", {.rows = 20, .columns = 30, .max_pairs = 4}, "dsop:allgather");
          const bench::InputFactors<float> dense(1, r, 4, 20, 30);
          const std::vector<std::size_t> offsets{0, 1};
          const std::vector<std::uint32_t> indices{7};
          const std::vector<float> one{1}, b{std::numeric_limits<float>::infinity(), 2};
          const SparseFactors<float> row{SparseMatrixView<float>{1, 400, offsets, indices, one},
                                         MatrixView<const float>{b.data(), 1, 2}};
          for (int step = 0; step < 3; ++step) {
            std::vector<float> of_rows(800), rows_alone(800), of_dense(600), dense_alone(600);
            std::vector<float> bias{1, static_cast<float>(r)};
            const std::size_t before = counting.payload().bytes + counting.agreement().bytes;
            synchronizer.begin();
            synchronizer.give("bias", {bias.data(), 1, 2});
            synchronizer.give("sparse", row, {of_rows.data(), 400, 2});
            synchronizer.give("dense", dense.view(), {of_dense.data(), 20, 30});
            synchronizer.finish();
            const std::size_t bytes = counting.payload().bytes + counting.agreement().bytes - before;
            dsop::dsop(transport, row, MatrixView<float>(rows_alone.data(), 400, 2), {.algorithm = "allgather"});
            dsop::dsop(transport, dense.view(), MatrixView<float>(dense_alone.data(), 20, 30),
                       {.algorithm = "allgather"});
            failures.check(of_rows == rows_alone && of_rows[0] == 0 && of_dense == dense_alone,
                           "other sums than alone");
            failures.check(bias == std::vector<float>{3, 3}, "the bias has another sum");
            failures.check(bytes < 2 * (4 * 50 * 4 + 2000), std::to_string(bytes) + " bytes");
          }
          const std::string description = synchronizer.describe();
          failures.check(description.find("bucket 1 ") == std::string::npos, description);
        }) == "");
}

TEST_CASE("a layer that may have many more pairs than are expected has a call of its own") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport);
          for (const std::string name : {"few", "some", "many"})
            synchronizer.add(name, {30, 30, name == "many" ? 10000UL : 20UL, 1, 1, /*expected_pairs=*/1},
                             "dsop:allgather");
          const std::string description = synchronizer.describe();
          failures.check(description.find("bucket 1 ") != std::string::npos, description);
          failures.check(description.find("many") < description.find("bucket 1 "), description);
        }) == "");
}

TEST_CASE("what was measured to be the fastest for a layer is what decides whether it shares a bucket") {
  CHECK(failures_on_threads(4, [](Transport& transport, Failures& failures) {
          for (const std::string winner : {"allreduce-ring", "generalized-rabenseifner", "allgather"}) {
            SynchronizerOptions options;
            options.machine = Machine{};
            options.machine->winners = {{64, 64, 2, 4, DataType::f32, winner}};
            Synchronizer<float> synchronizer(transport, options);
            Squares layers(transport.rank(), 2, 2, 64);
            layers.add_to(synchronizer, "dsop");
            layers.step(synchronizer);
            const std::string algorithm = synchronizer.last_step("w0").algorithm;
            failures.check(algorithm.starts_with(winner.substr(0, 9)), algorithm + " where " + winner + " was fastest");
            const bool is_shared = synchronizer.describe().find("bucket 1 ") != std::string::npos;
            failures.check(is_shared == winner.starts_with("all"), synchronizer.describe());
          }
        }) == "");
}

TEST_CASE("a bucket's layer of more pairs than 32 bits count is refused") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          const float one = 1;
          std::vector<float> G(1);
          const std::size_t pairs = std::size_t{1} << (transport.rank() == 1 ? 32 : 0);
          const MatrixView<const float> column{&one, pairs, 1, 0};
          const SparseFactors<float> factors(Factors<float>{column, column});
          const std::optional<Machine> machine;
          const std::string algorithm = "allgather";
          FactorBucketCalls<float> calls;
          const std::vector<BucketLayer<float>> layers{{factors, {G.data(), 1, 1}, 1, 0}};
          const std::string error = argument_error_of([&] {
            calls.run(transport, {algorithm, machine, 1, Wire::full}, layers);
          });
          failures.check(
              error.find("rank 1: the number of pairs is 4294967296, expected at most 4294967295") != std::string::npos,
              error);
        }) == "");
}

TEST_CASE("a layer that one rank leaves out of a bucket of factors is named, and the next step is right") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          Squares layers(transport.rank(), 3, 2, 10);
          Synchronizer<float> synchronizer(transport);
          layers.add_to(synchronizer, "dsop:allgather");
          layers.step(synchronizer);
          const std::vector<float> expected = layers.G;
          synchronizer.begin();
          for (const std::size_t i : {2UL, 1UL, 0UL})
            if (i != 1 || transport.rank() != 1) layers.give_one(synchronizer, i);
          const std::string error = argument_error_of([&] { synchronizer.finish(); });
          failures.check(error.find("the parameter is w2, w0 on rank 1, w2, w1, w0 on ranks 0, 2") != std::string::npos,
                         error);
          std::ranges::fill(layers.G, 1.0F);
          layers.step(synchronizer);
          failures.check(layers.G == expected, "the next step is wrong");
        }) == "");
}
