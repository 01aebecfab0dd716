// What calls allocate: nothing once shapes and numbers have been seen, and what communicators and layers hold. And what
// happens if one rank's memory runs out.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <dsop/collectives.hpp>
#include <dsop/counting.hpp>
#include <dsop/dsop.hpp>
#include <dsop/sparse_allreduce.hpp>
#include <dsop/stall_watch.hpp>
#include <dsop/synchronizer.hpp>
#include <dsop/topk_allreduce.hpp>

#include "algorithms/dense/operation.hpp"
#include "call/record.hpp"
#include "counted_memory.hpp"
#include "failures.hpp"
#include "kernels/threads.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

// Returns when all ranks have come: none allocates while another counts.
void wait_for_all(Transport& transport) {
  const int P = transport.size();
  const int r = transport.rank();
  char mine = 0;
  char theirs = 0;
  for (int step = 1; step < P; step *= 2)
    transport.sendrecv(std::span(&mine, 1), (r + step) % P, std::span(&theirs, 1), (r - step + P) % P);
}

// In ten times `calls`, all ranks together.
void check_allocates(std::size_t expected, Transport& transport, const std::string& what,
                     const std::function<void()>& calls, Failures& failures) {
  for (int warm_up = 0; warm_up < 50; ++warm_up) calls();  // transports too keep what they once needed
  // A rank that runs further ahead than ever before makes the transport's queue longer: the least of three counts.
  std::size_t least = SIZE_MAX;
  for (int count = 0; count < 3; ++count) {
    wait_for_all(transport);
    const std::size_t before = allocations();
    wait_for_all(transport);
    for (int repeat = 0; repeat < 10; ++repeat) calls();
    wait_for_all(transport);
    least = std::min(least, allocations() - before);
    wait_for_all(transport);
  }
  failures.check(least == expected, what + " allocates " + std::to_string(least) + " times in ten calls, expected " +
                                        std::to_string(expected));
}

void check_allocates_nothing(Transport& transport, const std::string& what, const std::function<void()>& calls,
                             Failures& failures) {
  check_allocates(0, transport, what, calls, failures);
}

struct Matrices {
  explicit Matrices(std::size_t n_) : n(n_), ones(8 * n_, 1), G(n_ * n_) {}
  Factors<float> factors(std::size_t k = 1) const { return {{ones.data(), k, n}, {ones.data(), k, n}}; }
  MatrixView<float> gradient() { return {G.data(), n, n}; }

  std::size_t n;
  std::vector<float> ones;
  std::vector<float> G;
};

// While it lives, no allocation fails.
struct EnoughMemory {
  std::size_t before = std::exchange(allocations_until_failure(), 0);
  ~EnoughMemory() { allocations_until_failure() = before; }
};

// What a transport takes to send a message never fails: it is not the library's calls that take it.
class WithEnoughMemory final : public TransportOver {
 public:
  explicit WithEnoughMemory(Transport& inner) : TransportOver(inner) {}

  std::size_t wait(Request& request) override {
    const EnoughMemory enough;
    return inner().wait(request);
  }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override {
    const EnoughMemory enough;
    return TransportOver::start_send(data, to, tag, length);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag, Length length) override {
    const EnoughMemory enough;
    return TransportOver::start_receive(data, from, tag, length);
  }
};

/// Makes a call, the same each time. Returns whether the sum is right.
using Sum = std::function<bool(Transport&)>;
/// What one rank of a communicator will call: without memory for more than the call itself.
using MakeSum = std::function<Sum(Transport&)>;

enum class End : unsigned char { sum, agreed_error, lone_error };

struct FirstCall {
  std::vector<End> ends;        ///< of each rank
  std::size_t allocations = 0;  ///< of rank 1, up to the one that failed
  std::string failures;
};

// A first call in which the n-th allocation fails on rank 1, if there are so many. After an error that all ranks have
// thrown, the next call must be right.
FirstCall call_without_memory(int P, std::size_t n, const MakeSum& make) {
  FirstCall call;
  call.ends.resize(static_cast<std::size_t>(P));
  call.failures = failures_on_threads(P, [&](Transport& inner, Failures& failures) {
    WithEnoughMemory transport(inner);
    set_stall_watch(transport, {.limit_seconds = 5, .throws = true});
    std::vector<float> data(3, 1);
    allreduce<float>(transport, data);
    const Sum sum = make(transport);
    End& end = call.ends[static_cast<std::size_t>(transport.rank())];
    const bool fails = transport.rank() == 1;
    bool is_right = false;
    if (fails) allocations_until_failure() = n;
    try {
      is_right = sum(transport);
    } catch (const ArgumentError&) {
      end = End::agreed_error;
    } catch (const std::exception& error) {
      end = End::lone_error;
      failures.add("rank " + std::to_string(transport.rank()) + " throws alone: " + error.what());
    }
    const std::size_t left = std::exchange(allocations_until_failure(), 0);
    if (fails) call.allocations = n - left;
    if (end == End::lone_error) return;
    if (end == End::agreed_error) is_right = sum(transport);
    failures.check(is_right, "the sum is wrong");
  });
  return call;
}

// Whichever allocation of one rank's fails, all ranks must throw, or none: a stable sort does without. Of very many, as
// a planner makes for each algorithm alike, some are tried.
void check_without_memory(const std::string& what, const MakeSum& make) {
  constexpr int P = 3;
  constexpr std::size_t all_up_to = 100;
  constexpr std::size_t step = 19;
  std::size_t count = 0;
  for (int use = 0; use < 2; ++use)  // the first makes what a process keeps
    count = call_without_memory(P, 1000000, make).allocations;
  INFO(what << " allocates " << count << " times");
  CHECK(count > 0);
  for (std::size_t n = 1; n <= count; n += n <= all_up_to || n + all_up_to > count ? 1 : step) {
    const FirstCall call = call_without_memory(P, n, make);
    INFO("allocation " << n << " fails");
    REQUIRE(call.failures == "");
    REQUIRE(call.allocations == n);
    REQUIRE(call.ends == std::vector<End>(P, call.ends[0]));
  }
}

bool are_all(const std::vector<float>& values, int expected) {
  return std::ranges::all_of(values, [&](float value) { return value == static_cast<float>(expected); });
}

}  // namespace

TEST_CASE("calls that were seen before allocate nothing") {
  for (const int P : {1, 2, 4})
    CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
            Matrices small(10), large(300);
            const auto own_pairs = static_cast<std::size_t>(1 + transport.rank());
            check_allocates_nothing(
                transport, "dsop() of two shapes by turns",
                [&] {
                  dsop::dsop<float>(transport, small.factors(), small.gradient());
                  dsop::dsop<float>(transport, large.factors(own_pairs), large.gradient());
                },
                failures);
            for (const std::string algorithm :
                 {"auto", "allgather-bruck", "generalized-rabenseifner", "allreduce-ring", "allreduce-rabenseifner"}) {
              OuterProduct<float> layer(transport, {300, 300, 8}, {.algorithm = algorithm});
              std::size_t calls = 0;
              check_allocates_nothing(
                  transport, "a layer's run by " + algorithm + " with two numbers of pairs",
                  [&] {
                    layer.run(large.factors(1 + calls++ % 2), large.gradient());
                    layer.run(large.factors(1 + calls++ % 2), large.gradient());
                  },
                  failures);
            }
            OuterProduct<float> sharded(transport, {300, 300, 8});
            std::vector<float> rows(300 * 300);
            const auto r = static_cast<std::size_t>(transport.rank());
            const std::vector<std::size_t> bounds = sharded.plan().row_bounds;
            check_allocates_nothing(
                transport, "a sharded run",
                [&] {
                  sharded.run_sharded(large.factors(), {rows.data(), bounds[r + 1] - bounds[r], 300});
                },
                failures);
            std::vector<float> data(1000);
            check_allocates_nothing(
                transport, "collectives",
                [&] {
                  allreduce<float>(transport, data);
                  broadcast<float>(transport, std::span(data).first(100), 0);
                  reduce<float>(transport, data, 0);
                },
                failures);
          }) == "");
}

TEST_CASE("sparse and top-k allreduces allocate their sums alone") {
  for (const int P : {1, 2, 4})
    CHECK(failures_on_threads(P, [P](Transport& transport, Failures& failures) {
            std::vector<float> values(1000);
            std::vector<std::uint32_t> indices(20);
            std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(10 * transport.rank()));
            std::iota(values.begin(), values.end(), 1.0F);
            const SparseVectorView<float> own{values.size(), indices, std::span(values).first(indices.size())};
            const auto check_sums = [&](const std::string& algorithm, const auto& sum) {
              const std::string text = sum().algorithm;
              const bool is_short = text.capacity() == std::string().capacity();  // lies in the sum itself
              const auto ranks = static_cast<std::size_t>(P);
              check_allocates(
                  10 * ranks * (is_short ? 1 : 2), transport, "a sum by " + algorithm,
                  [&] { static_cast<void>(sum()); }, failures);
            };
            for (const std::string algorithm : {"auto", "allgather", "ssar-recursive-doubling", "dense-ring"}) {
              SparseAllreduce<float> object(transport, {.algorithm = algorithm});
              check_sums(algorithm, [&] { return object.run(own); });
            }
            for (const std::string algorithm : {"topk", "ok-topk", "gtopk"}) {
              TopKAllreduce<float> object(transport, values.size(), {.algorithm = algorithm});
              check_sums(algorithm, [&] {
                std::iota(values.begin(), values.end(), 1.0F);
                return object.run(values, 10);
              });
            }
          }) == "");
}

TEST_CASE("to give parameters that were given before allocates nothing, however many they are") {
  CHECK(failures_on_threads(1, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport, {.overlap = false});
          std::vector<Matrices> given(200, Matrices(8));
          std::vector<std::string> names;
          for (std::size_t p = 0; p < given.size(); ++p) {
            names.push_back("the matrix number " + std::to_string(p) + " of a model of many");
            synchronizer.add(names[p], {.rows = 8, .columns = 8}, "dense");
          }
          for (int step = 0; step < 3; ++step) {
            synchronizer.begin();
            const std::size_t before = allocations();
            for (std::size_t p = 0; p < given.size(); ++p)
              synchronizer.give(names[p], given[p].factors(), given[p].gradient());
            const std::size_t allocated = allocations() - before;
            if (step > 0) failures.check(allocated == 0, std::to_string(allocated) + " allocations");
            synchronizer.finish();
          }
        }) == "");
}

TEST_CASE("communicators and layers hold no more memory than is stated") {
  for (const int P : {1, 4, 9}) {
    std::size_t of_communicator = 0;
    std::size_t of_layer = 0;
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures&) {
            Matrices small(10);
            const auto measure = [&](std::size_t& held, const std::function<void()>& calls) {
              wait_for_all(transport);
              const std::size_t before = allocated_bytes();
              wait_for_all(transport);
              calls();
              wait_for_all(transport);
              if (transport.rank() == 0) held = (allocated_bytes() - before) / static_cast<std::size_t>(P);
              wait_for_all(transport);
            };
            std::vector<float> data(10);
            measure(of_communicator, [&] { allreduce<float>(transport, data); });
            dsop::dsop<float>(transport, small.factors(), small.gradient());  // this thread's memory for packing
            std::optional<OuterProduct<float>> layer;
            measure(of_layer, [&] {
              layer.emplace(transport, Shape{10, 10, 1});
              layer->run(small.factors(), small.gradient());
            });
          }) == "");
    const auto ranks = static_cast<std::size_t>(P);
    CHECK(of_communicator <= 80 * 1024 + 200 * ranks);
    CHECK(of_layer <= (9 + ranks) * 1024 + 256);  // two plans, each with its machine and placement
  }
}

TEST_CASE("if one rank's memory runs out in a first call, all ranks throw, and the next call is right") {
  for (const std::string algorithm : {"auto", "allgather-ring", "generalized-rabenseifner", "allreduce-rabenseifner"}) {
    check_without_memory("dsop() by " + algorithm, [&](Transport&) -> Sum {
      return [options = Options{.algorithm = algorithm}, of = Matrices(40)](Transport& transport) mutable {
        dsop::dsop<float>(transport, of.factors(), of.gradient(), options);
        return are_all(of.G, transport.size());
      };
    });
    check_without_memory("a layer by " + algorithm, [&](Transport&) -> Sum {
      const Options options{.algorithm = algorithm, .beta = 1};
      return [each = std::vector<Options>{options, options}, of = Matrices(40)](Transport& transport) mutable {
        Options next = std::move(each.back());
        each.pop_back();
        std::ranges::fill(of.G, 0.0F);
        OuterProduct<float>(transport, {40, 40, 2}, std::move(next)).run(of.factors(), of.gradient());
        return are_all(of.G, transport.size());
      };
    });
  }
  check_without_memory("a layer's rows", [](Transport&) -> Sum {
    return [of = Matrices(40)](Transport& transport) {
      const auto rows = OuterProduct<float>(transport, {40, 40, 1}).run_rows(SparseFactors<float>(of.factors()));
      return rows.indices.size() == 40 && rows.elements[1599] == static_cast<float>(transport.size());
    };
  });
  check_without_memory("allreduce()", [](Transport&) -> Sum {
    return [data = std::vector<float>(1000)](Transport& transport) mutable {
      std::ranges::fill(data, 1.0F);
      allreduce<float>(transport, data);
      return are_all(data, transport.size());
    };
  });
  static constexpr std::array<std::uint32_t, 3> indices{1, 200, 999};
  static constexpr std::array<float, 3> values{1, 2, 3};
  const auto is_right = [](const SparseVectorView<float>& sum, int expected) {
    return std::accumulate(sum.values.begin(), sum.values.end(), 0.0F) == static_cast<float>(expected);
  };
  for (const std::string algorithm : {"auto", "ssar-recursive-doubling", "dense-ring"})
    check_without_memory("sparse_allreduce() by " + algorithm, [&](Transport&) -> Sum {
      return [&, options = SparseAllreduceOptions{.algorithm = algorithm}](Transport& transport) {
        const auto sum = sparse_allreduce<float>(transport, {1000, indices, values}, options);
        return is_right(sum.sum, 6 * transport.size());
      };
    });
  for (const std::string algorithm : {"topk", "ok-topk", "gtopk"})
    check_without_memory("a TopKAllreduce by " + algorithm, [&](Transport& of) -> Sum {
      const auto topk = std::make_shared<TopKAllreduce<float>>(of, 1000, TopKOptions{.algorithm = algorithm});
      return [&, topk, own = std::vector<float>(1000)](Transport& transport) mutable {
        std::iota(own.begin(), own.end(), 1.0F);
        const auto sum = topk->run(own, 2);
        return is_right(sum.sum, 1999 * transport.size());
      };
    });
}

namespace {

// A vector of 1000 elements of which every step-th is 1, on every rank the same.
struct Ones {
  explicit Ones(std::size_t step) : values((999 + step) / step, 1) {
    for (std::size_t e = 0; e < values.size(); ++e) indices.push_back(static_cast<std::uint32_t>(e * step));
  }
  SparseVectorView<float> view() const { return {1000, indices, values}; }
  bool is_sum(const SparseVectorView<float>& sum, int ranks) const {
    const float total = std::accumulate(sum.values.begin(), sum.values.end(), 0.0F);
    return total == static_cast<float>(values.size()) * static_cast<float>(ranks);
  }

  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};

// Values 1 .. 1000, all different, by which everybody selects the same.
std::vector<float> rising() {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

}  // namespace

TEST_CASE("if one rank's memory runs out in a later call, all ranks throw, and the next call is right") {
  for (const std::string algorithm : {"auto", "ssar-split-allgather"})
    for (const std::size_t later_step : {200UL, 2UL})  // as many elements as in the first call, and far more
      check_without_memory("a later sum by " + algorithm, [&](Transport& of) -> Sum {
        const auto object =
            std::make_shared<SparseAllreduce<float>>(of, SparseAllreduceOptions{.algorithm = algorithm});
        static_cast<void>(object->run(Ones(200).view()));
        return [object, own = Ones(later_step)](Transport& transport) {
          return own.is_sum(object->run(own.view()).sum, transport.size());
        };
      });
  for (const std::string algorithm : {"topk", "ok-topk", "gtopk", "gaussian-k"})
    for (const std::size_t k : {2UL, 300UL})
      check_without_memory("a later sum by " + algorithm, [&](Transport& of) -> Sum {
        const auto object = std::make_shared<TopKAllreduce<float>>(of, 1000, TopKOptions{.algorithm = algorithm});
        std::vector<float> values = rising();
        static_cast<void>(object->run(values, 2));
        return [object, k, own = std::vector<float>(1000)](Transport& transport) mutable {
          std::iota(own.begin(), own.end(), 1.0F);
          const auto sum = object->run(own, k);
          return sum.sum.values.size() > 0 && sum.sum.values.back() == 1000 * static_cast<float>(transport.size());
        };
      });
}

TEST_CASE("sparse and top-k calls agree in one exchange while what the ranks hold changes little") {
  const int P = GENERATE(2, 3, 4, 8);
  CHECK(failures_on_threads(P, [P](Transport& inner, Failures& failures) {
          CountingTransport transport(inner);
          const Traffic once{static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(P - 1))),
                             static_cast<std::size_t>(P - 1) * sizeof(Record)};
          const auto check = [&](const std::string& what, const std::function<void(std::size_t)>& call) {
            for (std::size_t turn = 0; turn < 5; ++turn) {
              const Traffic before = transport.agreement();
              call(turn);
              const bool agrees_once = transport.agreement() == before + once;
              failures.check(agrees_once || turn < 3, what + " agrees twice in call " + std::to_string(turn));
              failures.check(!agrees_once || turn > 0, what + " agrees once in its first call");
            }
          };
          const Ones many(10);
          // Each call holds an element less, and then one more.
          const auto part = [&](std::size_t turn) {
            const std::size_t count = many.values.size() - 2 + turn % 3;
            return SparseVectorView<float>{1000, std::span(many.indices).first(count),
                                           std::span(many.values).first(count)};
          };
          for (const std::string algorithm : {"auto", "allgather", "ssar-recursive-doubling", "ssar-split-allgather",
                                              "dsar-split-allgather", "topk-dsa", "dense-ring"}) {
            SparseAllreduce<float> object(transport, {.algorithm = algorithm});
            check(algorithm, [&](std::size_t turn) { static_cast<void>(object.run(part(turn))); });
          }
          check("a function", [&](std::size_t) { static_cast<void>(sparse_allreduce<float>(transport, many.view())); });
          for (const std::string algorithm : {"topk", "topk(allgather)", "ok-topk", "gtopk", "gaussian-k"}) {
            TopKAllreduce<float> object(transport, 1000, {.algorithm = algorithm});
            check(algorithm, [&](std::size_t) {
              std::vector<float> values = rising();
              static_cast<void>(object.run(values, 50));
            });
          }
        }) == "");
}

TEST_CASE("a rank that lacks a plan which others have gets it in one exchange more") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          std::vector<DenseCalls> kept(2);
          const std::optional<Machine> machine = Machine{};
          const std::string algorithm = "ring";
          for (int turn = 0; turn < 3; ++turn) {
            std::vector<float> data(100, 1);
            DenseCalls& calls = kept[transport.rank() == 1 && turn == 1 ? 1 : 0];
            calls.run(transport, DenseOperation<float>{.collective = Collective::allreduce,
                                                       .elements = 100,
                                                       .algorithm = algorithm,
                                                       .machine = machine,
                                                       .data = data});
            failures.check(are_all(data, 3), "the sum is wrong");
          }
        }) == "");
}

TEST_CASE("ranks whose numbers of threads have changed places agree anew that all have memory") {
  CHECK(failures_on_threads(2, [](Transport& inner, Failures& failures) {
          CountingTransport transport(inner);
          Matrices matrices(100);
          OuterProduct<float> layer(transport, {100, 100, 8}, {.algorithm = "allgather"});
          const auto agreements_of_a_run = [&](int threads) {
            kernels::set_thread_count(threads);
            const std::size_t before = transport.agreement().messages;
            layer.run(matrices.factors(8), matrices.gradient());
            return transport.agreement().messages - before;
          };
          kernels::set_thread_count(2);
          const bool is_first = transport.rank() == 0;
          agreements_of_a_run(is_first ? 2 : 1);
          const std::size_t known = agreements_of_a_run(is_first ? 2 : 1);
          failures.check(agreements_of_a_run(is_first ? 1 : 2) > known, "nothing is agreed on");
          failures.check(agreements_of_a_run(is_first ? 1 : 2) == known, "it is agreed on again");
        }) == "");
}
