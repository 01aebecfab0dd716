// A synchronizer's state in a checkpoint: what goes on from it is bit by bit what was not interrupted, and what is no
// such state changes nothing.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "base/fnv.hpp"
#include "patterns/of_all_ranks.hpp"
#include "synchronizer_conservation.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

template <class T>
std::string saved(Synchronizer<T>& synchronizer) {
  std::ostringstream out;
  synchronizer.save(out);
  return out.str();
}

template <class T>
std::string error_of_loading(Synchronizer<T>& synchronizer, const std::string& data) {
  std::istringstream in(data);
  return argument_error_of([&] { synchronizer.load(in); });
}

// All gradients' bytes after some steps, which are no whole numbers.
template <class T>
std::string run_steps(Model<T>& model, std::size_t first, std::size_t count) {
  std::string bytes;
  for (std::size_t step = first; step < first + count; ++step) {
    model.run(step, {.scale = 1.0 / 3});
    for (const LayerCase& layer : model.layers()) {
      const std::vector<T> G = model.result(layer);
      if (!G.empty()) bytes.append(reinterpret_cast<const char*>(G.data()), G.size() * sizeof(T));
    }
  }
  return bytes;
}

template <class T>
void check_resumed(Transport& transport, Failures& failures) {
  std::size_t turn = static_cast<std::size_t>(transport.size()) + sizeof(T) / 4;
  for (const std::string& policy : selecting_policies())
    for (const std::string changed_to : {"", "dsop", "none"}) {
      const bool has_turn = takes_turn(turn++, 6);
      if (!has_turn && !(changed_to.empty() && transport.size() == 3)) continue;
      const auto change = [&](Model<T>& model) {
        if (!changed_to.empty())
          for (const char* const name : {"first.weight", "kernel"}) model.synchronizer().set_policy(name, changed_to);
      };
      Model<T> model(transport, policy);
      run_steps(model, 1, 3);
      change(model);
      const std::string state = saved(model.synchronizer());
      const std::string uninterrupted = run_steps(model, 4, 4);

      Model<T> resumed(transport, policy);
      change(resumed);
      failures.check(error_of_loading(resumed.synchronizer(), state).empty(), policy + ": a good state is refused");
      failures.check(run_steps(resumed, 4, 4) == uninterrupted, policy + ", then " + changed_to + ": bits differ");
      failures.check(saved(resumed.synchronizer()) == saved(model.synchronizer()), policy + ": the states differ");
      std::istringstream in(state);
      resumed.synchronizer().load(in);  // once more, over what there is
      failures.check(run_steps(resumed, 4, 4) == uninterrupted, policy + ": a second load differs");
    }
}

// A table of 200 x 100 of which a rank has from one to four in a hundred elements, others in each step; where they
// stand is nearly the same on all ranks, which an allreduce could learn from step to step.
template <class T>
std::string run_sparse_steps(Synchronizer<T>& synchronizer, const Transport& transport, std::size_t first,
                             std::size_t count) {
  std::string bytes;
  std::vector<T> G(200 * 100);
  for (std::size_t step = first; step < first + count; ++step) {
    std::vector<std::uint32_t> indices;
    std::vector<T> values;
    for (std::uint32_t i = 0; i < G.size(); ++i) {
      const std::uint64_t common = bench::mix(1000003 * step + i) % 1000;
      const std::uint64_t own = bench::mix(common + 7919 * i + static_cast<std::uint64_t>(transport.rank()));
      if (common >= 10 + step * 7 % 31 || own % 20 == 0) continue;
      indices.push_back(i);
      values.push_back(static_cast<T>(own % 1000) / 7);
    }
    synchronizer.begin({.scale = 1.0 / 3});
    synchronizer.give("table", SparseVectorView<T>{G.size(), indices, values}, {G.data(), 200, 100});
    synchronizer.finish();
    bytes.append(reinterpret_cast<const char*>(G.data()), G.size() * sizeof(T));
  }
  return bytes;
}

template <class T>
void check_resumed_sparse(Transport& transport, Failures& failures) {
  Machine slow;  // so that what an allreduce could learn would change its choice
  slow.gap_per_byte_seconds = 1e-6;
  for (const char* const policy : {"sparse", "dsop"}) {
    const auto make = [&] {
      Synchronizer<T> synchronizer(transport, {.machine = slow});
      synchronizer.add("table", {.rows = 200, .columns = 100, .max_pairs = 0}, policy);
      return synchronizer;
    };
    Synchronizer<T> synchronizer = make();
    run_sparse_steps(synchronizer, transport, 1, 4);
    const std::string state = saved(synchronizer);
    const std::string uninterrupted = run_sparse_steps(synchronizer, transport, 5, 8);
    Synchronizer<T> resumed = make();
    failures.check(error_of_loading(resumed, state).empty(), std::string(policy) + ": a good state is refused");
    failures.check(run_sparse_steps(resumed, transport, 5, 8) == uninterrupted,
                   std::string(policy) + " with sparse vectors: bits differ");
  }
}

// One rank's mistake, before the layer of that number is given, counted in the order of giving; or its scale, if there
// are no so many layers.
template <class T>
std::string run_failing_step(Model<T>& model, std::size_t step, const Transport& transport, std::size_t mistake) {
  Synchronizer<T>& synchronizer = model.synchronizer();
  const std::vector<LayerCase>& layers = model.layers();
  const bool is_wrong = transport.rank() == static_cast<int>(mistake) % transport.size();
  std::vector<std::unique_ptr<GivenLayer<T>>> given;
  synchronizer.begin({.scale = is_wrong && mistake > layers.size() ? 2.0 : 1.0});
  for (std::size_t l = 0; l <= layers.size(); ++l) {
    if (is_wrong && mistake == l) synchronizer.give("no layer", MatrixView<T>());
    if (l == layers.size()) break;
    given.push_back(std::make_unique<GivenLayer<T>>(layers[layers.size() - 1 - l], transport.rank(), step));
    given.back()->give(synchronizer);
  }
  return argument_error_of([&] { synchronizer.finish(); });
}

// Layers that select, and some that are to sum what they have left behind.
template <class T>
void run_two_steps(Model<T>& model) {
  run_steps(model, 1, 2);
  for (const char* const name : {"first.weight", "last.bias"}) model.synchronizer().set_policy(name, "dense");
  model.synchronizer().set_policy("embedding", "sparse");
}

template <class T>
void check_dropped_steps(Transport& transport, Failures& failures) {
  for (const std::string& policy : selecting_policies()) {
    Model<T> model(transport, policy);
    run_two_steps(model);
    const std::string before = saved(model.synchronizer());
    const std::size_t no_mistake = model.layers().size() + (transport.size() == 1 ? 1 : 2);
    for (std::size_t mistake = 0; mistake < no_mistake; ++mistake) {
      const std::string what = policy + ", mistake " + std::to_string(mistake);
      failures.check(!run_failing_step(model, 3 + mistake, transport, mistake).empty(), what + ": no error");
      failures.check(saved(model.synchronizer()) == before, what + ": the state differs");
    }
    Model<T> without_mistakes(transport, policy);
    run_two_steps(without_mistakes);
    failures.check(run_steps(model, 3, 3) == run_steps(without_mistakes, 3, 3), policy + ": the next steps differ");
  }
}

}  // namespace

TEST_CASE("a step that ends in an error is dropped whole, and leaves what there was bit by bit") {
  const int P = GENERATE(1, 2, 3);
  CHECK(failures_on_threads(P, check_dropped_steps<float>) == "");
}

TEST_CASE("every selecting policy goes on from a saved state bit by bit as if not interrupted") {
  const int P = GENERATE(1, 2, 3, 5);
  CHECK(failures_on_threads(P, check_resumed<float>) == "");
  CHECK(failures_on_threads(P, check_resumed<double>) == "");
  CHECK(failures_on_threads(P, check_resumed_sparse<float>) == "");
  CHECK(failures_on_threads(P, check_resumed_sparse<double>) == "");
}

namespace {

std::string with_hash(std::string state) {
  const std::uint64_t hash = fnv(fnv_start, std::as_bytes(std::span(state)));
  return state.append(reinterpret_cast<const char*>(&hash), sizeof hash);
}

}  // namespace

TEST_CASE("an algorithm that an older version had found by trying is refused, with what to do") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          const auto error_under = [&](const std::string& policy) {
            Synchronizer<float> synchronizer(transport);
            synchronizer.add("w", {.rows = 5, .columns = 7, .max_pairs = 2}, "dsop");
            std::string state = saved(synchronizer);
            const std::size_t end = state.size() - sizeof(std::uint64_t) - sizeof(std::uint32_t);
            state = state.substr(0, end + sizeof(std::uint32_t));
            state.insert(end, "allgather");  // a text of no characters stood before
            state[end - sizeof(std::uint64_t)] = 9;
            synchronizer.set_policy("w", policy);
            return error_of_loading(synchronizer, with_hash(state));
          };
          const std::string error = error_under("dsop");
          failures.check(
              error.find("in the saved state is allgather, expected none: name it, as policy dsop:allgather") !=
                  std::string::npos,
              error);
          failures.check(error_under("dsop:allgather").empty(), error_under("dsop:allgather"));
        }) == "");
}

TEST_CASE("a layer of a bucket of factors goes on from a saved state with the same bits") {
  CHECK(failures_on_threads(4, [](Transport& transport, Failures& failures) {
          const bench::InputFactors<float> factors(1, transport.rank(), 16, 200, 200, bench::Values::fractions);
          const auto made = [&] {
            Synchronizer<float> synchronizer(transport, {.machine = Machine{}});
            synchronizer.add("w", {200, 200, 16}, "dsop");
            return synchronizer;
          };
          const auto sum_of = [&](Synchronizer<float>& synchronizer) {
            std::vector<float> G(200 * 200);
            synchronizer.begin();
            synchronizer.give("w", factors.view(), {G.data(), 200, 200});
            synchronizer.finish();
            return G;
          };
          Synchronizer<float> whole = made(), resumed = made();
          sum_of(whole);
          const std::string error = error_of_loading(resumed, saved(whole));
          failures.check(error.empty(), error);
          failures.check(sum_of(whole) == sum_of(resumed), "other bits");
          failures.check(resumed.last_step("w").algorithm == "allgather", resumed.last_step("w").algorithm);
        }) == "");
}

TEST_CASE("a state of version 4 is loaded") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          const auto make = [&] {
            Synchronizer<float> synchronizer(transport);
            synchronizer.add("kernel", {.rows = 5, .columns = 7, .max_pairs = 0}, "topk:0.1");
            return synchronizer;
          };
          Synchronizer<float> synchronizer = make();
          std::vector<float> G(35, static_cast<float>(transport.rank() + 1));
          synchronizer.begin();
          synchronizer.give("kernel", {G.data(), 5, 7});
          synchronizer.finish();
          std::string state = saved(synchronizer);
          state.resize(state.size() - sizeof(std::uint64_t) - sizeof(std::uint32_t));
          state[17] = 4;
          Synchronizer<float> resumed = make();
          const std::string error = error_of_loading(resumed, with_hash(state));
          failures.check(error.empty(), error);
          failures.check(std::ranges::equal(resumed.residual("kernel"), synchronizer.residual("kernel")), "residuals");
        }) == "");
}

TEST_CASE("saved states that are cut off, damaged or others' are refused on all ranks") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const int r = transport.rank();
          Model<float> model(transport, "topk:0.1");
          run_steps(model, 1, 1);
          const std::string earlier = saved(model.synchronizer());
          run_steps(model, 2, 1);
          const std::string good = saved(model.synchronizer());
          const auto expect = [&](const std::string& error, const std::string& expected) {
            failures.check(error.find(expected) != std::string::npos, "expected " + expected + ", threw " + error);
            failures.check(saved(model.synchronizer()) == good, "a state that is refused changes something");
          };
          const auto refused = [&](const std::string& data, const std::string& expected) {
            expect(error_of_loading(model.synchronizer(), r == 1 ? data : good), expected);
          };
          for (std::size_t cut = 0; cut < good.size(); cut += 1 + cut / 7)
            refused(good.substr(0, cut), "rank 1: the saved state is cut off within ");
          refused(good.substr(0, good.size() - 1), "rank 1: the saved state is cut off within the hash at its end");
          for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 60) {
            std::string damaged = good;
            damaged[at] = static_cast<char>(damaged[at] ^ 1);
            refused(damaged, "rank 1: ");
          }
          refused(std::string(1000, 'x'), "rank 1: the data are no saved state of a synchronizer");
          std::string later = good;
          later[17] = 9;
          refused(later, "rank 1: the version in the saved state is 9, expected 4 or 5");
          refused(earlier, "the ranks disagree: the state's step is 1 on rank 1, 2 on ranks 0, 2");

          std::vector<std::string> all(3);
          Model<double> doubles(transport, "topk:0.1");
          refused(saved(doubles.synchronizer()),
                  "rank 1: the number of bytes of an element in the saved state is 8, expected 4");
          Model<float> inside(transport, "topk:0.1", {.residual_holds_step = true});
          refused(saved(inside.synchronizer()), "rank 1: residual_holds_step in the saved state is 1, expected 0");
          Synchronizer<float> other(transport);
          other.add("embedding", {.rows = 50, .columns = 7, .max_pairs = 0}, "dense");
          refused(saved(other), "rank 1: the number of parameters in the saved state is 1, expected 10");
          expect(error_of_loading(other, good), "ranks 0-2: the number of parameters in the saved state is 10");
        }) == "");
}

TEST_CASE("saved states of another rank, number of ranks or model are refused") {
  std::vector<std::string> states(3);
  const auto small = [](Transport& transport, std::size_t columns, const char* name) {
    Synchronizer<float> synchronizer(transport);
    synchronizer.add(name, {.rows = 5, .columns = columns, .max_pairs = 0}, "topk:0.1");
    return synchronizer;
  };
  run_on_threads(3, [&](Transport& transport) {
    Synchronizer<float> synchronizer = small(transport, 7, "kernel");
    states[static_cast<std::size_t>(transport.rank())] = saved(synchronizer);
  });
  const auto error = [&](int P, std::size_t columns, const char* name, int shift) {
    std::vector<std::string> errors(static_cast<std::size_t>(P));
    run_on_threads(P, [&](Transport& transport) {
      Synchronizer<float> synchronizer = small(transport, columns, name);
      const auto own = static_cast<std::size_t>(transport.rank());
      errors[own] = error_of_loading(synchronizer, states[static_cast<std::size_t>((transport.rank() + shift) % 3)]);
    });
    CHECK(errors == std::vector<std::string>(static_cast<std::size_t>(P), errors[0]));
    return errors[0];
  };
  CHECK(error(3, 7, "kernel", 0) == "");
  CHECK(error(3, 7, "kernel", 1) ==
        "rank 2: the rank in the saved state is 0, expected 2; rank 0: the rank in the saved state is 1, expected 0; "
        "rank 1: the rank in the saved state is 2, expected 1");
  CHECK(error(2, 7, "kernel", 0) == "ranks 0-1: the number of ranks in the saved state is 3, expected 2");
  CHECK(error(3, 8, "kernel", 0) ==
        "ranks 0-2: the number of columns of parameter kernel in the saved state is 7, expected 8");
  CHECK(error(3, 7, "colonel", 0) ==
        "ranks 0-2: a parameter in the saved state is kernel, expected each of colonel once");
}

TEST_CASE("a state that can't be written is an error") {
  run_on_threads(1, [](Transport& transport) {
    Synchronizer<float> synchronizer(transport);
    std::ostringstream out;
    out.setstate(std::ios::badbit);
    CHECK_THROWS_WITH(synchronizer.save(out), "a synchronizer's state could not be written");
  });
}

TEST_CASE("what selects goes on by the machine of the checkpoint too") {
  CHECK(failures_on_threads(4, [](Transport& transport, Failures& failures) {
          constexpr std::size_t elements = 100000;
          const auto step = [&](Synchronizer<float>& synchronizer) {
            std::vector<float> gradient(elements, 1);
            synchronizer.begin();
            synchronizer.give("w", {gradient.data(), 1, elements});
            synchronizer.finish();
            return synchronizer.last_step("w").algorithm;
          };
          Machine far;
          far.latency_seconds = 1;
          Synchronizer<float> first(transport, {.machine = far});
          first.add("w", {1, elements}, "topk:0.1");
          const std::string by_far = step(first);
          const std::string state = saved(first);

          Synchronizer<float> resumed(transport);
          resumed.add("w", {1, elements}, "topk:0.1");
          failures.check(step(resumed) != by_far,
                         "both machines choose " + by_far + ", so that the test shows nothing");
          failures.check(error_of_loading(resumed, state).empty(), "not loaded");
          const std::string now = step(resumed);
          failures.check(now == by_far, now + " instead of " + by_far);
        }) == "");
}

TEST_CASE("a synchronizer's machine of any length is saved and loaded") {
  std::vector<Winner> winners;
  for (std::size_t rows = 0; rows < 12'000; ++rows) winners.push_back({rows, 7, 0, 2, DataType::f32, "allgather"});
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
          Synchronizer<float> planned(transport, {.machine = Machine{.winners = winners}});
          planned.add("w", {1, 100}, "ok-topk:0.1");
          const std::string state = saved(planned);
          failures.check(state.size() > (1 << 20), "the state is short");
          Synchronizer<float> resumed(transport);
          resumed.add("w", {1, 100}, "ok-topk:0.1");
          failures.check(error_of_loading(resumed, state) == "", "a long state is refused");
          failures.check(saved(resumed) == state, "the states differ");
          const std::string error = error_of_loading(resumed, state.substr(0, 1 << 20));
          failures.check(error.find("cut off within the machine") != std::string::npos, error);
        }) == "");
}

TEST_CASE("residuals that are reset bring nothing back of a step that overflowed, and the ranks stay equal") {
  constexpr std::size_t elements = 200;
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          for (const std::string& policy : selecting_policies())
            for (const int resetting : {0, 1, 3}) {  // so many ranks
              Synchronizer<float> synchronizer(transport);
              synchronizer.add("w", {1, elements}, policy);
              std::vector<float> G(elements);
              const auto step = [&](float value) {
                for (std::size_t e = 0; e < elements; ++e) G[e] = value * static_cast<float>(1 + e % 7);
                synchronizer.begin();
                synchronizer.give("w", {G.data(), 1, elements});
                synchronizer.finish();
                return std::all_of(G.begin(), G.end(), [](float x) { return std::isfinite(x); });
              };
              const auto are_equal = [&] {
                std::string bits(reinterpret_cast<const char*>(G.data()), G.size() * sizeof(float));
                const auto all = patterns::of_all_ranks(transport, checksum(bits));
                return std::ranges::all_of(all, [&](std::uint64_t sum) { return sum == all[0]; });
              };
              step(1);
              step(transport.rank() == 1 ? std::numeric_limits<float>::infinity() : 1);
              if (transport.rank() < resetting) synchronizer.reset_residuals();
              const bool is_finite = step(1);
              failures.check(are_equal(), policy + ": the ranks' sums differ");
              const bool sends_k = !policy.starts_with("ok-topk-");  // or all that reaches a threshold, here at once
              if (resetting == 0 && sends_k)
                failures.check(!is_finite, policy + ": nothing comes back, so this tests nothing");
              if (resetting == 3) failures.check(is_finite, policy + ": what overflowed comes back");
              step(1);
              failures.check(are_equal(), policy + ": the ranks' sums differ later");
            }
        }) == "");
}
