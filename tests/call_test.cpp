// How ranks agree on a call: equal slots whatever the ranks say, errors on all of them, plans and memory that stay the
// same on all.
#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <random>
#include <set>

#include <dsop/collectives.hpp>
#include <dsop/counting.hpp>
#include <dsop/dsop.hpp>
#include <dsop/sparse_allreduce.hpp>
#include <dsop/stall_watch.hpp>

#include "algorithms/outer_product/operation.hpp"
#include "call/call.hpp"
#include "call/plan_cache.hpp"
#include "counted_memory.hpp"
#include "failures.hpp"
#include "kernels/threads.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

// A layer n x n of one pair a rank, k of them on the calling one: G must be the sum over ranks of k everywhere.
void check_sum(Transport& transport, std::size_t n, const std::vector<std::size_t>& pairs, const Options& options,
               Failures& failures) {
  const std::size_t k = pairs[static_cast<std::size_t>(transport.rank())];
  const std::vector<float> ones(k * n, 1);
  std::vector<float> G(n * n, -1);
  dsop::dsop<float>(transport, {{ones.data(), k, n}, {ones.data(), k, n}}, {G.data(), n, n}, options);
  float sum = 0;
  for (const std::size_t of_rank : pairs) sum += static_cast<float>(of_rank);
  for (const float element : G)
    if (element != sum) return failures.add("G has " + std::to_string(element) + ", expected " + std::to_string(sum));
}

}  // namespace

TEST_CASE("a record has 32 bytes and keeps its numbers") {
  Record record;
  CHECK(record.sparsity() == Sparsity{});
  record.take_sparsity({7, std::size_t{1} << 40});
  CHECK(record.sparsity() == Sparsity{7, std::size_t{1} << 40});
  Record other = record;
  other.digest = 1;
  other.failed = other.checks_bits = other.piggybacks = other.asks_for_facts = 1;
  CHECK(other.numbers() == record.numbers());
  other.threads = 2;
  CHECK(other.numbers() != record.numbers());
}

TEST_CASE("slots grow and shrink at every call, with ranks that change their numbers") {
  for (const int P : {1, 2, 3, 5, 8})
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            std::mt19937 random(7);  // the same on all ranks
            for (int call = 0; call < 200; ++call) {
              std::vector<std::size_t> pairs(static_cast<std::size_t>(P));
              for (std::size_t& k : pairs) k = random() % 5;
              const std::size_t n = random() % 3 == 0 ? 1 + random() % 600 : 1 + random() % 8;
              check_sum(transport, n, pairs, {.algorithm = random() % 2 == 0 ? "auto" : "allgather"}, failures);
              if (random() % 4 == 0) {
                std::vector<float> data(3, 1);
                allreduce<float>(transport, data);
                failures.check(data[2] == static_cast<float>(P), "an allreduce between is wrong");
              }
            }
          }) == "");
}

TEST_CASE("calls in any order send little room in which nothing rides") {
  CHECK(failures_on_threads(4, [](Transport& inner, Failures& failures) {
          CountingTransport transport(inner);
          OuterProduct<float> layer(transport, {500, 500, 1}, {.algorithm = "allgather"});
          const std::vector<float> ones(500, 1);
          std::vector<float> G(500 * 500);
          std::vector<float> data(3, 1);
          std::mt19937 random(5);  // the same on all ranks
          std::size_t others = 0;
          std::size_t in_vain_bytes = 0;
          for (int call = 0; call < 400; ++call) {
            const std::size_t before = transport.agreement().bytes;
            if (random() % 5 == 0) {
              layer.run({{ones.data(), 1, 500}, {ones.data(), 1, 500}}, {G.data(), 500, 500});
            } else {
              allreduce<float>(transport, data, {.algorithm = "ring"});
              ++others;
              in_vain_bytes += transport.agreement().bytes - before;
            }
          }
          const double share = static_cast<double>(in_vain_bytes) / (3 * 4000) / static_cast<double>(others);
          failures.check(share < 0.4, std::to_string(share) + " of a call's room is sent in vain");
        }) == "");
}

TEST_CASE("a layer whose algorithm is named says what auto would take") {
  CHECK(failures_on_threads(4, [](Transport& transport, Failures& failures) {
          const Shape shape{60, 50, 3};
          const OuterProduct<float> by_auto(transport, shape);
          const OuterProduct<float> named(transport, shape, {.algorithm = "allreduce-ring"});
          const std::string taken = by_auto.plan().algorithm_text();
          failures.check(by_auto.plan().auto_choice == taken, "auto says that it takes another");
          failures.check(named.plan().auto_choice == taken, "it says that auto takes " + named.plan().auto_choice);
        }) == "");
}

TEST_CASE("factors that are given sparse and travel dense ask for no room in the agreement") {
  const std::string algorithm = GENERATE("auto", "allgather");
  CHECK(failures_on_threads(4, [&](Transport& inner, Failures& failures) {
          CountingTransport transport(inner);
          constexpr std::size_t n = 8;
          const std::vector<std::size_t> offsets{0, n};
          const std::vector<std::uint32_t> indices{0, 1, 2, 3, 4, 5, 6, 7};
          const std::vector<float> ones(n, 1);
          std::vector<float> G(n * n);
          OuterProduct<float> layer(transport, {n, n, 1}, {.algorithm = algorithm});
          const SparseMatrixView<float> full{1, n, offsets, indices, ones};
          for (int call = 0; call < 4; ++call) {
            const std::size_t before = transport.agreement().bytes;
            layer.run({full, full}, {G.data(), n, n});
            const bool took_memory = call == 0;  // which all agree on
            failures.check(took_memory || transport.agreement().bytes - before == 3 * 32,
                           "other than records were sent");
            failures.check(!layer.plan().chosen().piggybacks, "the plan says that factors ride");
            failures.check(G.back() == 4, "a sum is wrong");
          }
        }) == "");
}

TEST_CASE("ranks may disagree or fail at any call, whatever rides") {
  for (const int P : {2, 3, 5})
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            std::mt19937 random(11);
            for (int call = 0; call < 150; ++call) {
              const auto odd_one = static_cast<int>(random() % static_cast<std::uint_fast32_t>(P));
              const std::size_t n = 1 + random() % 40;
              const auto wrong = random() % 5;
              const bool is_odd = transport.rank() == odd_one;
              const std::vector<std::size_t> pairs(static_cast<std::size_t>(P), 1 + random() % 3);
              const std::string error = argument_error_of([&] {
                if (wrong == 0 && is_odd) {
                  std::vector<float> data(n, 1);
                  allreduce<float>(transport, data);
                } else if (wrong == 1 && is_odd) {
                  static_cast<void>(sparse_allreduce<float>(transport, {.dimension = n, .values = {}}));
                } else {
                  check_sum(transport, wrong == 2 && is_odd ? n + 1 : n, pairs,
                            {.algorithm = wrong == 3 && is_odd ? "no such" : "auto"}, failures);
                }
              });
              failures.check(error.empty() == (wrong == 4), "call " + std::to_string(call) + ": " + error);
            }
          }) == "");
}

TEST_CASE("a communicator can be used again after a rank made an object that others did not") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          std::vector<float> data(3, 1);
          if (transport.rank() == 1) SparseAllreduce<float> unasked(transport);
          const std::string error = argument_error_of([&] { allreduce<float>(transport, data); });
          failures.check(error.find("the number of calls before this one is ") != std::string::npos, error);
          allreduce<float>(transport, data);
          failures.check(data[2] == 3, "the sum is wrong");
        }) == "");
}

TEST_CASE("digests that differ where all texts are alike are an error on all ranks") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const std::string error = argument_error_of([&] {
            Call call(transport, "allreduce", 1, 1, DataType::f32);
            const std::uint64_t bits = std::bit_cast<std::uint64_t>(std::nan("")) + (transport.rank() == 1 ? 1 : 0);
            call.same("scale", std::bit_cast<double>(bits));
            call.agree();
          });
          failures.check(
              error ==
                  "the ranks disagree: their digests differ, though all values that they were made of read the same",
              error);
          check_sum(transport, 2, {1, 1, 1}, {}, failures);
        }) == "");
}

TEST_CASE("a rank that throws while memory is taken makes all ranks throw, and the next call takes it again") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          for (const bool fails : {true, false}) {
            const std::string error = argument_error_of([&] {
              Call call(transport, "allreduce", 1, 1, DataType::f32);
              call.agree();
              failures.check(call.must_grow(1000), "what one rank has not is taken for there");
              call.all_or_none([&] {
                call.grow(1000);
                if (fails && transport.rank() == 2) throw Error("no memory here");
              });
              failures.check(!call.must_grow(1000) && call.must_grow(1001), "memory is not known");
            });
            failures.check(error == (fails ? "rank 2: no memory here" : ""), error);
          }
        }) == "");
}

TEST_CASE("ranks that plan for another machine in the second call are named") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          check_sum(transport, 3, {1, 2, 0}, {}, failures);
          Machine machine;
          machine.latency_seconds = 1;
          Options options;
          if (transport.rank() == 1) options.machine = machine;
          const std::string error = argument_error_of([&] { check_sum(transport, 3, {1, 2, 0}, options, failures); });
          failures.check(error.starts_with("the ranks disagree: machine.latency_seconds is 1 on rank 1, ") &&
                             error.ends_with(" on ranks 0, 2") && error.find(';') == error.npos,
                         error);
          check_sum(transport, 3, {1, 2, 0}, {}, failures);
        }) == "");
}

TEST_CASE("a rank that uses more threads later makes products that several ranks make without OpenBLAS") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          OuterProduct<float> layer(transport, {4, 4, 1}, {.algorithm = "allgather"});
          const std::vector<float> ones(4, 1);
          std::vector<float> G(16);
          const auto run = [&] {
            layer.run({{ones.data(), 1, 4}, {ones.data(), 1, 4}}, {G.data(), 4, 4});
            return layer.plan().shared_method.blas_allowed;
          };
          failures.check(run(), "equal threads forbid OpenBLAS");
          kernels::set_thread_count(transport.rank() == 0 ? 2 : 1);
          failures.check(transport.rank() != 0 || !run(), "other threads on a rank allow OpenBLAS");
          if (transport.rank() != 0) static_cast<void>(run());
          kernels::set_thread_count(1);
          failures.check(run(), "equal threads forbid OpenBLAS again");
        }) == "");
}

TEST_CASE("factors that ride cost no message, and count as payload") {
  for (const int P : {2, 4, 7})
    CHECK(
        failures_on_threads(P, [&](Transport& inner, Failures& failures) {
          CountingTransport transport(inner);
          const std::vector<std::size_t> pairs(static_cast<std::size_t>(P), 1);
          for (int warm_up = 0; warm_up < 3; ++warm_up) check_sum(transport, 100, pairs, {}, failures);
          const Traffic payload = transport.payload();
          const Traffic agreement = transport.agreement();
          check_sum(transport, 100, pairs, {}, failures);
          const auto others = static_cast<std::size_t>(P - 1);
          const auto rounds = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(P - 1)));
          failures.check(payload + Traffic{0, others * 800} == transport.payload(), "the payload is another");
          failures.check(agreement + Traffic{rounds, others * 32} == transport.agreement(), "the agreement is another");
        }) == "");
}

TEST_CASE("factors of many layers that follow each other in every step ride") {
  CHECK(failures_on_threads(2, [](Transport& inner, Failures& failures) {
          CountingTransport transport(inner);
          const auto step = [&] {
            const std::size_t before = transport.payload().messages;
            for (std::size_t n = 11; n <= 60; ++n) check_sum(transport, n, {1, 1}, {}, failures);
            return transport.payload().messages - before;
          };
          failures.check(step() > 0, "rides where no call like it was before");
          step();
          const std::size_t sent = step();
          failures.check(sent == 0, "factors of " + std::to_string(sent) + " calls do not ride");
        }) == "");
}

TEST_CASE("a digest tells numbers, their order and how many there are") {
  const auto digest_of = [](std::initializer_list<std::uint64_t> numbers) {
    SequenceDigest digest;
    for (const std::uint64_t number : numbers) digest.take(number);
    return digest.value();
  };
  const std::vector<std::uint64_t> all{digest_of({}),     digest_of({0}),    digest_of({0, 0}),    digest_of({1, 2}),
                                       digest_of({2, 1}), digest_of({3, 0}), digest_of({0, 0, 0}), digest_of({1, 3})};
  CHECK(std::set(all.begin(), all.end()).size() == all.size());
  CHECK(digest_of({1, 2}) == 0x0df88dcb154789a9);  // the same on every machine
}

TEST_CASE("kept plans are found by value, and the one that was not used for longest goes") {
  PlanCache<int> plans(2);
  const std::vector<std::uint64_t> a{1, 2}, b{1, 3}, c{4};
  plans.insert(a, 9, 1);
  plans.insert(b, 9, 2);  // the same digest
  CHECK(*plans.find(a, 9) == 1);
  CHECK(*plans.find(b, 9) == 2);
  CHECK(*plans.find(a, 9) == 1);
  plans.insert(c, 5, 3);
  CHECK(plans.find(b, 9) == nullptr);
  CHECK(*plans.find(a, 9) == 1);
  CHECK(*plans.find(c, 5) == 3);
}

TEST_CASE("of more shapes than are kept all ranks keep the same, also after errors") {
  constexpr std::size_t kept = OuterProductCalls<float>::most_plans;
  constexpr std::size_t found = 2, made = 4;  // messages of a call by which three ranks agree
  CHECK(failures_on_threads(3, [](Transport& inner, Failures& failures) {
          CountingTransport transport(inner);
          set_stall_watch(transport, {.limit_seconds = 5, .throws = true});
          std::vector<float> data(3, 1);
          allreduce<float>(transport, data);
          const auto check_messages = [&](std::size_t shapes, std::size_t expected) {
            for (std::size_t n = shapes; n > 0; --n) {  // the first takes memory for all
              const std::size_t before = transport.agreement().messages;
              check_sum(transport, n, {1, 2, 0}, {}, failures);
              const std::size_t sent = transport.agreement().messages - before;
              failures.check(sent == expected, "shape " + std::to_string(n) + ": " + std::to_string(sent) +
                                                   " messages, expected " + std::to_string(expected));
            }
          };
          for (int turn = 0; turn < 2; ++turn) check_messages(kept + 6, made);
          const std::string unknown = argument_error_of([&] {
            check_sum(transport, 5, {1, 2, 0}, {.algorithm = transport.rank() == 1 ? "unknown" : "auto"}, failures);
          });
          failures.check(!unknown.empty(), "an algorithm that is unknown is no error");
          check_messages(kept, found);
          const std::string no_memory = argument_error_of([&] {
            const std::vector<float> ones(200, 1);
            std::vector<float> G(200 * 200);
            if (transport.rank() == 1) allocations_until_failure() = 1;
            dsop::dsop<float>(transport, {{ones.data(), 1, 200}, {ones.data(), 1, 200}}, {G.data(), 200, 200});
          });
          failures.check(no_memory.starts_with("rank 1: "), no_memory);
          check_messages(kept, made);
          check_messages(kept, found);
        }) == "");
}
