// Targets with alpha and beta: what a synchronizer makes of them, and which it refuses.
#include <catch2/catch.hpp>

#include <limits>
#include <random>
#include <set>

#include "synchronizer/memory_ranges.hpp"
#include "synchronizer/policy.hpp"
#include "synchronizer_misuse.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

constexpr std::size_t rows = 30, columns = 20, gap = 3;

LayerCase layer_of(Giving form) {
  return {"w" + std::to_string(static_cast<int>(form)), rows, columns, form};
}

/// What a rank gives in `form`, and what stands in its target.
template <class T>
struct Given {
  Given(int rank, Giving form_) : form(form_), layer(layer_of(form_), rank, 1), target(rows * (columns + gap)) {
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = static_cast<T>(i % 5);
  }
  MatrixView<T> view(std::size_t stride) { return {target.data(), rows, columns, stride}; }

  Giving form;
  GivenLayer<T> layer;
  std::vector<T> target;
};

template <class T>
std::vector<T> compact(MatrixView<T> view) {
  std::vector<T> elements;
  for (std::size_t i = 0; i < view.rows; ++i) elements.insert(elements.end(), view.row(i), view.row(i) + view.columns);
  return elements;
}

/// One of each form that takes T, and algorithms that come to the target in other ways.
template <class T>
std::vector<std::string> policies() {
  std::vector<std::string> texts{"dsop:allreduce-ring", "dsop:replicated-rabenseifner", "dense-overlapped:ring"};
  for (const synchronizer::PolicyKind& kind : synchronizer::policy_kinds())
    if (std::is_same_v<T, float> || !kind.for_f32_alone) texts.push_back(kind.example);
  return texts;
}

template <class T>
void check_targets(Transport& transport, Failures& failures) {
  for (const std::string& policy : policies<T>())
    for (const Giving form : {Giving::factors, Giving::sparse_factors, Giving::vector, Giving::full_vector})
      for (const Update update : {Update{1, 0}, Update{-2, 0}, Update{1, 1}, Update{2, -3}, Update{0, 1}})
        for (const std::size_t stride : {columns, columns + gap}) {
          Synchronizer<T> synchronizer(transport);
          Given<T> given(transport.rank(), form);
          const LayerCase layer = layer_of(form);
          synchronizer.add(layer.name, layer.shape(), policy);
          const MatrixView<T> target = given.view(stride);
          std::vector<T> expected = synchronizer::policy_kind(synchronizer::PolicyText(policy)).sums
                                        ? expected_sum<T>(layer, transport.size(), 1)
                                        : given.layer.own();
          const std::vector<T> before = compact(target);
          for (std::size_t i = 0; i < expected.size(); ++i)
            expected[i] = static_cast<T>(update.beta) * before[i] + static_cast<T>(update.alpha / 2) * expected[i];
          if (update.beta == 0)
            for (std::size_t i = 0; i < rows; ++i)
              std::fill_n(target.row(i), columns, std::numeric_limits<T>::quiet_NaN());
          synchronizer.begin({.scale = 0.5});
          given.layer.give(synchronizer, target, update);
          synchronizer.finish();
          failures.check(compact(target) == expected, policy + ", form " + std::to_string(static_cast<int>(form)) +
                                                          ", alpha " + std::to_string(update.alpha) + ", beta " +
                                                          std::to_string(update.beta) + ": wrong");
        }
}

}  // namespace

TEST_CASE("every policy leaves beta target + alpha sum, and beta = 0 reads nothing") {
  const int P = GENERATE(1, 2, 3, 5);
  CHECK(failures_on_threads(P, check_targets<float>) == "");
  CHECK(failures_on_threads(P, check_targets<double>) == "");
}

TEST_CASE("every policy's example is one of its form") {
  for (const synchronizer::PolicyKind& kind : synchronizer::policy_kinds())
    CHECK(&synchronizer::policy_kind(synchronizer::PolicyText(kind.example)) == &kind);
}

TEST_CASE("bf16 rounds the sum, and not the target") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          for (const char* const policy : {"dsop:allreduce-ring", "dsop:allgather", "dense:ring", "topk:1", "sparse"}) {
            Synchronizer<float> synchronizer(transport, {.wire = Wire::bf16});
            synchronizer.add("w", {.rows = 4, .columns = 5, .max_pairs = 1}, policy);
            const std::vector<float> a(4, 1), b(5, 1);
            std::vector<float> target(20, 1.0F + 0x1p-20F);  // more bits than bf16 has
            synchronizer.begin();
            synchronizer.give("w", Factors<float>{{a.data(), 1, 4}, {b.data(), 1, 5}}, {target.data(), 4, 5}, {2, 1});
            synchronizer.finish();
            failures.check(target == std::vector<float>(20, 7.0F + 0x1p-20F), policy);
          }
        }) == "");
}

TEST_CASE("a wrong target is an error on all ranks, and the next step is right") {
  const auto give_weight = [](Rank& rank, MatrixView<float> target, Update update = {}) {
    rank.synchronizer.give("weight", Factors<float>{{rank.a.data(), 1, 6}, {rank.b.data(), 1, 4}}, target, update);
  };
  const auto with_update = [&](const std::string& expected, auto update) {
    return failures_when(expected, [&](Rank& rank) {
      rank.synchronizer.begin();
      give_weight(rank, {rank.G.data(), 6, 4}, update(rank.transport.rank()));
      rank.synchronizer.finish();
    });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(with_update("rank 1: parameter weight: beta is nan, expected a finite number in f32", [&](int r) {
          return Update{1, r == 1 ? nan : 0};
        }) == "");
  CHECK(with_update("ranks 0-2: parameter weight: alpha is 1e+60, expected a finite number in f32", [](int) {
          return Update{1e60, 0};
        }) == "");
  CHECK(with_update("is 0 on ranks 0-1, 0.5 on rank 2", [](int r) { return Update{1, r == 2 ? 0.5 : 0}; }) == "");
  CHECK(with_update("is 1 on ranks 1-2, 3 on rank 0", [](int r) { return Update{r == 0 ? 3.0 : 1.0, 0}; }) == "");

  CHECK(
      failures_when("rank 0: parameter weight: gradient overlaps that of parameter kernel, expected memory of its own",
                    [&](Rank& rank) {
                      rank.synchronizer.begin();
                      rank.give_kernel();
                      give_weight(rank, {(rank.is(0) ? rank.kernel : rank.G).data(), 6, 4});
                      rank.synchronizer.finish();
                    }) == "");
  CHECK(failures_when("rank 2: parameter bias: gradient overlaps what was given for parameter weight, expected memory",
                      [&](Rank& rank) {
                        rank.synchronizer.begin();
                        give_weight(rank, {rank.G.data(), 6, 4});
                        rank.synchronizer.give("bias", {(rank.is(2) ? rank.b : rank.bias).data(), 1, 4});
                        rank.synchronizer.finish();
                      }) == "");
  CHECK(
      failures_when("rank 1: parameter weight: what is given overlaps the gradient of parameter bias, expected memory",
                    [&](Rank& rank) {
                      rank.synchronizer.begin();
                      rank.synchronizer.give("bias", {(rank.is(1) ? rank.b : rank.bias).data(), 1, 4});
                      give_weight(rank, {rank.G.data(), 6, 4});
                      rank.synchronizer.finish();
                    }) == "");
  CHECK(failures_when("rank 0: parameter weight: gradient overlaps the factors' range of memory", [&](Rank& rank) {
          std::vector<float> both(28);
          rank.synchronizer.begin();
          rank.synchronizer.give("weight", Factors<float>{{rank.a.data(), 1, 6}, {both.data(), 1, 4}},
                                 {both.data() + (rank.is(0) ? 0 : 4), 6, 4});
          rank.synchronizer.finish();
        }) == "");
  CHECK(failures_when("rank 2: parameter kernel: gradient overlaps own, expected memory of its own", [](Rank& rank) {
          std::vector<float> both(400);
          rank.synchronizer.begin();
          rank.synchronizer.give("kernel", {.dimension = 200, .values = {both.data(), 200}},
                                 {both.data() + (rank.is(2) ? 100 : 200), 2, 100}, {});
          rank.synchronizer.finish();
        }) == "");
}

TEST_CASE("of many parameters the one whose alpha differs is named") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport);
          const std::vector<float> own(4);
          std::vector<std::vector<float>> targets(200, std::vector<float>(4));
          std::vector<std::string> names;
          for (std::size_t p = 0; p < targets.size(); ++p) {
            names.push_back("model.vector." + std::to_string(p) + ".of_a_model_of_many");
            synchronizer.add(names.back(), {.rows = 1, .columns = 4}, "dense");
          }
          synchronizer.begin();
          for (std::size_t p = 0; p < targets.size(); ++p)
            synchronizer.give(names[p], {.dimension = 4, .values = own}, {targets[p].data(), 1, 4},
                              {p >= 190 && p <= 191 && transport.rank() == 1 ? 3.0 : 1.0, 0});
          const std::string error = argument_error_of([&] { synchronizer.finish(); });
          const std::string differs = " is 1 on rank 0, 3 on rank 1";
          failures.check(
              error == "the ranks disagree: alpha of " + names[190] + differs + "; alpha of " + names[191] + differs,
              error);
        }) == "");
}

TEST_CASE("of ranges of memory all that meet a new one are found") {
  std::minstd_rand random(1);
  const auto draw = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random); };
  for (int round = 0; round < 100; ++round) {
    synchronizer::MemoryRanges ranges;
    std::vector<MemoryRange> all;
    const std::size_t longest = round % 2 == 0 ? 5 : 300;
    for (std::size_t owner = 0; owner < 60; ++owner) {
      const std::uintptr_t first = 1000 + draw(500);
      const MemoryRange range = draw(9) == 0 ? MemoryRange{} : MemoryRange{first, first + draw(longest)};
      std::set<std::size_t> found, expected;
      ranges.each_that_meets(range, [&](std::size_t other) { CHECK(found.insert(other).second); });
      for (std::size_t other = 0; other < owner; ++other)
        if (meet(all[other], range)) expected.insert(other);
      CHECK(found == expected);
      ranges.add(range, owner);
      all.push_back(range);
    }
  }
}

TEST_CASE("of parameters that a new one meets the one that was given first is named") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport);
          for (const char* const name : {"first", "second", "third"})
            synchronizer.add(name, {.rows = 1, .columns = 8, .max_pairs = 0}, "dense");
          std::vector<float> own(8), G(24);
          synchronizer.begin();
          synchronizer.give("first", {.dimension = 8, .values = {G.data() + 12, 8}}, {own.data(), 1, 8}, {});
          synchronizer.give("second", {G.data(), 1, 8});
          synchronizer.give("third", {G.data() + 6, 1, 8});
          const std::string error = argument_error_of([&] { synchronizer.finish(); });
          failures.check(error ==
                             "ranks 0-1: parameter third: gradient overlaps what was given for parameter first, "
                             "expected memory of its own",
                         error);
        }) == "");
}

TEST_CASE("blocks of columns of one matrix are targets apart") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport);
          for (const char* const name : {"left", "right"})
            synchronizer.add(name, {.rows = 3, .columns = 2, .max_pairs = 0}, "dense");
          std::vector<float> G{1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2};
          synchronizer.begin();
          synchronizer.give("right", {G.data() + 2, 3, 2, 4});
          synchronizer.give("left", {G.data(), 3, 2, 4});
          synchronizer.finish();
          failures.check(G == std::vector<float>{2, 2, 4, 4, 2, 2, 4, 4, 2, 2, 4, 4}, "wrong sums");
          synchronizer.begin();
          synchronizer.give("right", {G.data() + 1, 3, 2, 4});
          synchronizer.give("left", {G.data(), 3, 2, 4});
          const std::string error = argument_error_of([&] { synchronizer.finish(); });
          failures.check(error.find("parameter left: gradient overlaps that of parameter right") != std::string::npos,
                         error);
        }) == "");
}

TEST_CASE("a part of a row and blocks of columns beside it are targets apart, in either order") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport);
          synchronizer.add("row", {.rows = 1, .columns = 2, .max_pairs = 0}, "dense");
          synchronizer.add("block", {.rows = 3, .columns = 2, .max_pairs = 0}, "dense");
          std::vector<float> G(12, 1);
          const auto step = [&](std::size_t column, bool row_first) {
            synchronizer.begin();
            if (row_first) synchronizer.give("row", {G.data() + 4 + column, 1, 2, 4});
            synchronizer.give("block", {G.data(), 3, 2, 4});
            if (!row_first) synchronizer.give("row", {G.data() + 4 + column, 1, 2, 4});
            synchronizer.finish();
          };
          for (const bool row_first : {true, false}) {
            step(2, row_first);
            const std::string error = argument_error_of([&] { step(1, row_first); });
            failures.check(error.find(": gradient overlaps that of parameter ") != std::string::npos, error);
          }
          failures.check(G == std::vector<float>{4, 4, 1, 1, 4, 4, 4, 4, 4, 4, 1, 1}, "wrong sums");
        }) == "");
}

TEST_CASE("a residual that holds the learning rate allows no beta") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          for (const bool inside : {false, true}) {
            Synchronizer<float> synchronizer(transport, {.residual_holds_step = inside});
            synchronizer.add("w", {.rows = 2, .columns = 2, .max_pairs = 1}, "topk:0.5");
            const std::vector<float> a(2, 1), b(2, 1);
            std::vector<float> target(4);
            synchronizer.begin();
            synchronizer.give("w", Factors<float>{{a.data(), 1, 2}, {b.data(), 1, 2}}, {target.data(), 2, 2}, {1, 0.9});
            const std::string error = argument_error_of([&] { synchronizer.finish(); });
            failures.check(error == (inside ? "ranks 0-1: parameter w: beta is 0.9, expected 0 under policy topk:0.5, "
                                              "whose residual holds the learning rate (residual_holds_step)"
                                            : ""),
                           error);
          }
        }) == "");
}
