// Broadcast, reduce and allreduce of dense vectors, from their registries.
#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <mutex>
#include <set>

#include "algorithms/dense/pipeline_blocks.hpp"
#include "collectives_cases.hpp"
#include "critical_path.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

constexpr int three_ranks = 3;

// The text that all ranks throw alike, or what went wrong; then the communicator still works.
template <class Call>
std::string agreed_error(Call call_of) {
  std::mutex mutex;
  std::set<std::string> texts;
  const std::string wrong = failures_on_threads(three_ranks, [&](Transport& transport, Failures& failures) {
    const std::string text = argument_error_of([&] { call_of(transport, transport.rank() == 1); });
    std::vector<float> data(4, 1);
    dsop::allreduce<float>(transport, data);
    failures.check(data == std::vector<float>(4, three_ranks), "the next call is wrong");
    const std::lock_guard lock(mutex);
    texts.insert(text);
  });
  if (!wrong.empty()) return wrong;
  return texts.size() == 1 ? *texts.begin() : "the ranks' errors differ";
}

}  // namespace

TEST_CASE("every collective is exact for any ranks, root and size, by the messages and bytes that its formula states") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  CHECK(failures_on_threads(P, check_collectives<float>) == "");
  CHECK(failures_on_threads(P, check_collectives<double>) == "");
}

TEST_CASE("sums have the same bits on all ranks and in each call") {
  const int P = GENERATE(1, 2, 3, 5, 8, 13);
  CHECK(failures_on_threads(P, check_bits_of_collectives<float>) == "");
  CHECK(failures_on_threads(P, check_bits_of_collectives<double>) == "");
}

TEST_CASE("the volumes of the collectives are those of the paper's table") {
  constexpr std::size_t N = 1 << 18;
  constexpr std::size_t bytes = N * sizeof(float);
  const auto cost = [](const Family& family, int P, const char* name) {
    return make_dense_plan(family.algorithms, {N, P}, Machine{}, name).cost();
  };
  const std::vector<Family> all = families();
  for (const int P : {2, 4, 8, 32}) {
    const auto ranks = static_cast<std::size_t>(P);
    const std::size_t blocks = bytes / (64 << 10);
    INFO("P = " << P);
    CHECK(cost(all[0], P, "linear-pipeline(64)").bytes == (P == 2 ? 1 : 2) * bytes);
    for (const std::size_t f : {std::size_t{1}, std::size_t{2}}) {
      CHECK(cost(all[f], P, "linear-pipeline(64)").bytes == bytes);
      CHECK(cost(all[f], P, "linear-pipeline(64)").messages == blocks + 1);
    }
    CHECK(cost(all[1], P, "bidirectional-exchange").bytes * ranks == 2 * (ranks - 1) * bytes);
    CHECK(cost(all[1], P, "minimum-spanning-tree").bytes == static_cast<std::size_t>(std::countr_zero(ranks)) * bytes);
  }
}

TEST_CASE("the times and additions of the collectives are those of their formulas") {
  constexpr std::size_t N = 1 << 18;
  constexpr double blocks = 16;
  Machine machine{.overhead_seconds = 0, .gap_seconds = 0, .memory_bytes_per_second = 1e11};
  machine.hidden_share = GENERATE(0.0, 1.0);
  const double alpha = machine.latency_seconds;
  const double beta = N * sizeof(float) * machine.gap_per_byte_seconds;  // these two for all of the vector
  const double gamma = machine.addition_seconds(N, DataType::f32);
  const std::vector<Family> all = families();
  for (const int P : {2, 3, 4, 6, 32}) {
    const double corners = std::bit_floor(static_cast<unsigned>(P));
    const double folds = corners < P ? 1 : 0;
    const double steps = std::bit_width(static_cast<unsigned>(P - 1));
    const double whole = alpha + beta;
    const double hop = alpha + 2 * beta / blocks;   // blocks share a link in twos while the pipe fills
    const double added = (P - 2) * gamma / blocks;  // on the way
    const double others = 1 - 1 / corners;
    const double exchange = 2 * std::log2(corners) * alpha + 2 * others * beta;
    const double shown = machine.hidden_share == 0 ? 1 : 1 / blocks;  // of the pipelines' additions
    const double agreement = steps * alpha + (P - 1) * 32 * machine.gap_per_byte_seconds;  // records of 32 bytes
    struct Stated {
      const Family& family;
      const char* algorithm;
      double travel, additions, shown = 1;
    };
    for (const Stated& stated : {
             Stated{all[0], "linear-pipeline(64)",
                    (P == 2 ? beta : 2 * beta) + alpha + std::max(1, 2 * (P - 2)) * hop + added, 1, shown},
             Stated{all[1], "linear-pipeline(64)", whole + (P - 2) * hop, 0},
             Stated{all[2], "linear-pipeline(64)", whole + (P - 2) * hop + added, 1, shown},
             Stated{all[0], "minimum-spanning-tree", 2 * steps * whole, steps},
             Stated{all[1], "minimum-spanning-tree", steps * whole, 0},
             Stated{all[2], "minimum-spanning-tree", steps * whole, steps},
             Stated{all[0], "bidirectional-exchange", exchange + 2 * folds * whole, others + folds},
             Stated{all[1], "bidirectional-exchange", exchange + folds * whole, 0},
             Stated{all[2], "bidirectional-exchange", exchange + folds * whole, others + folds},
         }) {
      INFO(stated.family.name << ' ' << stated.algorithm << ", P = " << P << ", hidden " << machine.hidden_share);
      const DensePlan plan = make_dense_plan(stated.family.algorithms, {N, P}, machine, stated.algorithm);
      CHECK(plan.cost().flops == Approx(stated.additions * N));
      CHECK(plan.cost().seconds() == Approx(stated.travel + stated.shown * stated.additions * gamma));
      CHECK(plan.seconds() - plan.cost().seconds() == Approx(agreement));
    }
  }
}

TEST_CASE("the longest chains of messages of the collectives are those of the paper's table") {
  constexpr std::size_t block = 1024;
  constexpr std::size_t n = 64 * block;
  for (const int P : {2, 4, 8}) {
    const auto ranks = static_cast<std::size_t>(P);
    const auto steps = static_cast<std::size_t>(std::countr_zero(ranks));
    const auto path_of = [&](const Family& family, const char* algorithm) {
      std::size_t bytes = 0;
      std::mutex mutex;
      run_on_threads(P, [&](Transport& threads) {
        bench::CriticalPathTransport transport(threads);
        std::vector<float> data(n / sizeof(float));
        call<float>(family, transport, data, 0, {.algorithm = algorithm});
        const std::lock_guard lock(mutex);
        bytes = std::max(bytes, transport.clock());
      });
      return bytes;
    };
    INFO("P = " << P);
    const std::size_t fill = ranks - 2;  // in blocks
    for (const Family& family : families()) {
      INFO(family.name);
      CHECK(path_of(family, "minimum-spanning-tree") == (family.has_root ? 1 : 2) * steps * n);
      CHECK(path_of(family, "bidirectional-exchange") == 2 * (ranks - 1) * n / ranks);
      const std::size_t both_ways = P == 2 ? n + block : 2 * n + (2 * fill - 1) * block;
      CHECK(path_of(family, "linear-pipeline(1)") == (family.has_root ? n + fill * block : both_ways));
    }
  }
}

TEST_CASE("a pipeline's blocks are the vector, the first of them a third, none longer than was asked for") {
  for (const std::size_t size : {0UL, 1UL, 2UL, 5UL, 6UL, 7UL, 100UL, 1001UL, 20000UL})
    for (const double kib : {1.0 / 512, 1.0 / 8, 1.0, 64.0}) {
      INFO(size << " elements, blocks of " << kib << " KiB");
      const dense::PipelineBlocks blocks(size, DataType::f64, kib);
      const auto most = std::max<std::size_t>(1, static_cast<std::size_t>(kib * 1024 / sizeof(double)));
      std::vector<double> vector(size);
      const double* end = vector.data();
      for (int i = 0; i < blocks.count(); ++i) {
        const std::span<double> block = blocks.of(std::span(vector), i);
        CHECK(block.data() == end);
        CHECK(block.size() <= std::min(most, blocks.largest()));
        end += block.size();
      }
      CHECK(end == vector.data() + size);
      if (size <= most || blocks.largest() < 3) continue;
      CHECK(blocks.size(0) == blocks.largest() / 3);
      CHECK(blocks.size(0) + blocks.size(1) == blocks.largest());
      CHECK(blocks.count() == static_cast<int>((size + most - 1) / most) + 1);
    }
}

TEST_CASE("the linear pipeline's predicted time hardly grows with the ranks, the tree's by a step each doubling") {
  const Machine machine;
  for (const Family& family : families()) {
    const auto seconds = [&](int P, const char* name) {
      return make_dense_plan(family.algorithms, {1 << 26, P}, machine, name).cost().seconds();
    };
    INFO(family.name);
    CHECK(seconds(32, "linear-pipeline") < 1.1 * seconds(4, "linear-pipeline"));
    CHECK(seconds(32, "minimum-spanning-tree") > 2.4 * seconds(4, "minimum-spanning-tree"));
    CHECK(make_dense_plan(family.algorithms, {1, 32}, machine, "auto").algorithm->name != "linear-pipeline");
    if (family.has_root)
      CHECK(make_dense_plan(family.algorithms, {1 << 26, 32}, machine, "auto").algorithm->name == "linear-pipeline");
  }
}

TEST_CASE("the linear pipeline adds along the chain, the tree in the order of its children") {
  constexpr int P = 6;
  constexpr std::size_t size = 50;
  const auto x = [](int rank) { return vector_of<float>(rank % P, size, bench::Values::fractions); };
  const auto plus = [](std::vector<float> left, const std::vector<float>& right) {
    std::ranges::transform(left, right, left.begin(), std::plus());
    return left;
  };
  for (int root = 0; root < P; ++root) {
    const auto v = [&](int i) { return x(root + i); };
    const std::vector<float> chain = plus(v(0), plus(v(1), plus(v(2), plus(v(3), plus(v(4), v(5))))));
    const std::vector<float> tree = plus(plus(plus(v(0), v(1)), plus(v(2), v(3))), plus(v(4), v(5)));
    CHECK(chain != tree);
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            const auto reduced = [&](const char* algorithm) {
              std::vector<float> data = x(transport.rank());
              dsop::reduce<float>(transport, data, root, {.algorithm = algorithm});
              return data;
            };
            const std::vector<float> by_chain = reduced("linear-pipeline(0.1)");
            const std::vector<float> by_tree = reduced("minimum-spanning-tree");
            if (transport.rank() != root) return;
            failures.check(by_chain == chain, "the chain's sum is in another order");
            failures.check(by_tree == tree, "the tree's sum is in another order");
          }) == "");
  }
}

TEST_CASE("started collectives are exact, in any order of waiting, with blocking calls between") {
  const int P = GENERATE(1, 2, 3, 6);
  CHECK(failures_on_threads(P, check_started_collectives) == "");
}

TEST_CASE("a wrong argument of a collective on one rank is an error on all") {
  const auto text = [&](auto call_of) {
    return agreed_error([&](Transport& transport, bool is_wrong) {
      std::vector<float> data(4);
      call_of(transport, std::span<float>(data), is_wrong);
    });
  };
  using Data = std::span<float>;
  CHECK(text([](Transport& t, Data data, bool wrong) { dsop::broadcast(t, data, wrong ? 3 : 0); }) ==
        "rank 1: root is 3, expected a rank from 0 to 2");
  CHECK(text([](Transport& t, Data data, bool wrong) { dsop::reduce(t, data, wrong ? -1 : 0); }) ==
        "rank 1: root is -1, expected a rank from 0 to 2");
  CHECK(text([](Transport& t, Data data, bool wrong) { dsop::reduce(t, data, wrong ? 1 : 0); }) ==
        "the ranks disagree: root is 0 on ranks 0, 2, 1 on rank 1");
  CHECK(text([](Transport& t, Data data, bool wrong) { dsop::allreduce(t, wrong ? data.first(2) : data); }) ==
        "the ranks disagree: data.size() is 2 on rank 1, 4 on ranks 0, 2");
  CHECK(text([](Transport& t, Data data, bool wrong) {
          dsop::allreduce(t, wrong ? Data(static_cast<float*>(nullptr), 4) : data);
        }) == "rank 1: data is null, expected memory for its elements");
  CHECK(text([](Transport& t, Data data, bool wrong) {
          wrong ? dsop::reduce(t, data, 0) : dsop::broadcast(t, data, 0);
        }).starts_with("the ranks disagree: the operation is broadcast on ranks 0, 2, reduce on rank 1"));
  CHECK(text([](Transport& t, Data data, bool wrong) {
          std::vector<double> other(4);
          wrong ? dsop::allreduce<double>(t, other) : dsop::allreduce(t, data);
        }) == "the ranks disagree: data type is f32 on ranks 0, 2, f64 on rank 1");
  CHECK(text([](Transport& t, Data data, bool wrong) {
          dsop::broadcast(t, data, 0, {.algorithm = wrong ? "ring" : "linear-pipeline"});
        }) == "rank 1: algorithm is ring, expected auto or one of " + broadcast_algorithms().names());
  CHECK(text([](Transport& t, Data data, bool wrong) {
          dsop::reduce(t, data, 0, {.algorithm = wrong ? "linear-pipeline(0)" : "linear-pipeline"});
        }) == "the ranks disagree: algorithm is linear-pipeline on ranks 0, 2, linear-pipeline(0) on rank 1");
  CHECK(text([](Transport& t, Data data, bool wrong) {
          dsop::reduce(t, data, 0, {.algorithm = wrong ? "mpi" : "auto"});
        }) == "the ranks disagree: algorithm is auto on ranks 0, 2, mpi on rank 1");
  CHECK(text([](Transport& t, Data data, bool wrong) {
          Machine machine;
          if (wrong) machine.gap_seconds = -1;
          dsop::allreduce(t, data, {.machine = machine});
        }).starts_with("rank 1: "));
  CHECK(text([](Transport& t, Data data, bool wrong) { dsop::start_broadcast(t, data, wrong ? 7 : 0).wait(); }) ==
        "rank 1: root is 7, expected a rank from 0 to 2");
}

TEST_CASE("bidirectional exchange names an algorithm of every collective") {
  for (const Family& family : families())
    CHECK(make_dense_plan(family.algorithms, {.elements = 100, .ranks = 4}, Machine{}, "bidirectional-exchange")
              .algorithm != nullptr);
}
