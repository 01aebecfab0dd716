// Small layers' factors that travel together: the sums that a synchronizer makes of them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "algorithms/outer_product/factor_bucket.hpp"
#include "synchronizer_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

constexpr std::size_t most_pairs = 40;

/// Layers that are drawn by a seed, and what ranks give for them, step by step: all ranks draw the same.
class DrawnLayers {
 public:
  DrawnLayers(std::uint64_t seed, std::size_t most_layers, std::size_t widest) : seed_(seed) {
    const std::size_t count = draw(seed, 0, most_layers) + 1;
    for (std::size_t i = 0; i < count; ++i)  // one in four may be wide
      sizes_.push_back({draw(seed, 2 * i + 1, i % 4 == 1 ? widest : widest / 6) + 1,
                        draw(seed, 2 * i + 2, i % 4 == 2 ? widest : widest / 6) + 1});
  }

  std::size_t count() const { return sizes_.size(); }
  const GradientSize& size(std::size_t layer) const { return sizes_[layer]; }
  static std::string name(std::size_t layer) { return "w" + std::to_string(layer); }
  /// From none to `most`, few of most: up to two in the first step.
  std::size_t pairs(std::size_t layer, int rank, std::size_t step, std::size_t most) const {
    const std::uint64_t of = bench::mix(seed_ + step) + 100 * layer + static_cast<std::uint64_t>(rank);
    return draw(of, 0, step == 1 ? 2 : of % 4 == 0 ? most : most / 8);
  }
  /// Any order, the same on all ranks.
  std::vector<std::size_t> order(std::size_t step) const {
    std::vector<std::size_t> order(count());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::minstd_rand(static_cast<unsigned>(seed_ + step)));
    return order;
  }

 private:
  static std::size_t draw(std::uint64_t seed, std::uint64_t number, std::size_t most) {
    return bench::mix(bench::mix(seed) + number) % (most + 1);
  }

  std::uint64_t seed_;
  std::vector<GradientSize> sizes_;
};

/// One rank's factors of a layer in a step, and its target.
template <class T>
struct DrawnFactors {
  DrawnFactors(const DrawnLayers& layers, std::size_t layer, int rank, std::size_t step, std::size_t most,
               bench::Values values)
      : size(layers.size(layer)),
        is_sparse((layer + static_cast<std::size_t>(rank) + step) % 5 == 0),
        gap((layer + step) % 2 == 0 ? 0 : 3),
        factors(100 * step + layer, rank, layers.pairs(layer, rank, step, most), size.rows, size.columns, values, gap,
                is_sparse ? bench::Densities{.a = 0.3, .b = 0.6} : bench::Densities{}),
        a(factors.view().a),
        target(size.rows * (size.columns + gap)) {
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = static_cast<T>(i % 5);
  }

  MatrixView<T> view() { return {target.data(), size.rows, size.columns, size.columns + gap}; }

  GradientSize size;
  bool is_sparse;
  std::size_t gap;
  bench::InputFactors<T> factors;
  bench::Compressed<T> a;
  std::vector<T> target;
};

template <class T>
void give(Synchronizer<T>& synchronizer, std::size_t layer, DrawnFactors<T>& drawn, const Update& update) {
  const Factors<T>& factors = drawn.factors.view();
  if (drawn.is_sparse)
    synchronizer.give(DrawnLayers::name(layer), {drawn.a.view(), factors.b}, drawn.view(), update);
  else
    synchronizer.give(DrawnLayers::name(layer), factors, drawn.view(), update);
}

Update update_of(std::size_t layer) {
  return {layer % 3 == 0 ? -2.0 : 1.0, layer % 4 == 0 ? 3.0 : layer % 4 == 1 ? 1.0 : 0.0};
}

/// Steps of random buckets, whole numbers and ==.
template <class T>
void check_sweep(Transport& transport, Failures& failures) {
  const int P = transport.size();
  auto turn = static_cast<std::size_t>(P);
  for (const std::string policy : {"dsop:allgather", "dsop", "dsop:allgather-ring", "dsop-bf16:allgather"})
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      if (!takes_turn(turn++, 3) || (policy.starts_with("dsop-bf16") && !std::is_same_v<T, float>)) continue;
      const DrawnLayers layers(10 * seed + static_cast<std::uint64_t>(P), 12, 299);
      const std::size_t bucket_bytes = std::size_t{1} << (10 + 2 * seed);
      Synchronizer<T> synchronizer(transport, {.bucket_bytes = bucket_bytes, .overlap = seed % 2 == 0});
      for (std::size_t i = 0; i < layers.count(); ++i)
        synchronizer.add(DrawnLayers::name(i),
                         {layers.size(i).rows, layers.size(i).columns, most_pairs, 1, 1, /*expected_pairs=*/1}, policy);
      for (std::size_t step = 1; step <= 3; ++step) {
        std::vector<std::unique_ptr<DrawnFactors<T>>> given(layers.count());
        synchronizer.begin({.scale = 0.5});
        for (const std::size_t i : layers.order(step)) {
          given[i] =
              std::make_unique<DrawnFactors<T>>(layers, i, transport.rank(), step, most_pairs, bench::Values::whole);
          give(synchronizer, i, *given[i], update_of(i));
        }
        synchronizer.finish();
        for (std::size_t i = 0; i < layers.count(); ++i) {
          if ((i + step + static_cast<std::size_t>(transport.rank())) % 2 != 0) continue;  // others' ranks look
          DrawnFactors<T> expected(layers, i, transport.rank(), step, 0, bench::Values::whole);
          const auto [n, m] = layers.size(i);
          for (std::size_t row = 0; row < n; ++row)
            for (std::size_t j = 0; j < m; ++j) expected.view().row(row)[j] *= static_cast<T>(update_of(i).beta);
          for (int r = 0; r < P; ++r) {
            const DrawnFactors<T> theirs(layers, i, r, step, most_pairs, bench::Values::whole);
            for (std::size_t row = 0; row < n; ++row)
              bench::add_reference_row<T>(theirs.factors.view(), row, static_cast<T>(update_of(i).alpha / 2),
                                          {expected.view().row(row), m});
          }
          failures.check(given[i]->target == expected.target, policy + ", seed " + std::to_string(seed) + ", step " +
                                                                  std::to_string(step) + ": " + DrawnLayers::name(i) +
                                                                  " is wrong");
        }
      }
    }
}

}  // namespace

TEST_CASE("layers that share buckets of factors have the sums of all ranks, in any order and of any number of pairs") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, check_sweep<float>) == "");
  CHECK(failures_on_threads(P, check_sweep<double>) == "");
}

TEST_CASE("a layer's bits do not depend on its bucket, and are those that allgather gives it alone") {
  const int P = GENERATE(2, 3, 5, 8);
  static constexpr std::size_t most = 12;  // of all ranks together not more than our kernel multiplies
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          const DrawnLayers layers(7, 10, 150);
          for (const std::size_t bucket_bytes : {std::size_t{1} << 14, std::size_t{1} << 20}) {
            Synchronizer<float> synchronizer(transport, {.bucket_bytes = bucket_bytes});
            for (std::size_t i = 0; i < layers.count(); ++i)
              synchronizer.add(DrawnLayers::name(i), {layers.size(i).rows, layers.size(i).columns, most, 1, 1, 1},
                               "dsop:allgather");
            for (std::size_t step = 1; step <= 2; ++step) {
              std::vector<std::unique_ptr<DrawnFactors<float>>> given(layers.count());
              synchronizer.begin({.scale = 0.3});
              for (const std::size_t i : layers.order(step)) {
                given[i] = std::make_unique<DrawnFactors<float>>(layers, i, transport.rank(), step, most,
                                                                 bench::Values::fractions);
                give(synchronizer, i, *given[i], {0.7, i % 2 == 0 ? 0.9 : 0.0});
              }
              synchronizer.finish();
              for (std::size_t i = 0; i < layers.count(); ++i) {
                if ((i + step) % 5 == 0 || (i + step) % 5 + static_cast<std::size_t>(transport.size()) > 5)
                  continue;  // sparse
                DrawnFactors<float> alone(layers, i, transport.rank(), step, most, bench::Values::fractions);
                dsop::dsop(transport, alone.factors.view(), alone.view(),
                           {.algorithm = "allgather", .scale = 0.3, .alpha = 0.7, .beta = i % 2 == 0 ? 0.9 : 0.0});
                failures.check(given[i]->target == alone.target, DrawnLayers::name(i) + " has other bits");
              }
            }
          }
        }) == "");
}
