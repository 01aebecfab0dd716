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
    for (std::size_t i = 0; i < count; ++i) {  // one in four may be wide
      sizes_.push_back({draw(seed, 2 * i + 1, i % 4 == 1 ? widest : widest / 6) + 1,
                        draw(seed, 2 * i + 2, i % 4 == 2 ? widest : widest / 6) + 1});
      if (shares_a(i)) sizes_[i].rows = sizes_[i - 1].rows;
      if (shares_b(i)) sizes_[i].columns = sizes_[i - 1].columns;
    }
  }

  std::size_t count() const { return sizes_.size(); }
  const GradientSize& size(std::size_t layer) const { return sizes_[layer]; }
  static std::string name(std::size_t layer) { return "w" + std::to_string(layer); }
  /// Of some layers one factor is that of the layer before.
  static bool shares_a(std::size_t layer) { return layer % 5 == 2; }
  static bool shares_b(std::size_t layer) { return layer % 5 == 3 || layer % 5 == 4; }
  /// From none to `most`, few of most: up to two in the first step.
  std::size_t pairs(std::size_t layer, int rank, std::size_t step, std::size_t most) const {
    if (shares_a(layer) || shares_b(layer)) return pairs(layer - 1, rank, step, most);
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
        is_sparse(step % 2 == 0 && (layer + static_cast<std::size_t>(rank) + step) % 5 == 0),
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

/// What one rank has of all layers in a step.
template <class T>
struct DrawnStep {
  DrawnStep(const DrawnLayers& layers, int rank, std::size_t step, std::size_t most, bench::Values values) {
    for (std::size_t i = 0; i < layers.count(); ++i)
      drawn.push_back(std::make_unique<DrawnFactors<T>>(layers, i, rank, step, most, values));
  }
  DrawnFactors<T>& operator[](std::size_t layer) { return *drawn[layer]; }
  /// With what it shares.
  Factors<T> factors(std::size_t layer) const {
    Factors<T> factors = drawn[layer]->factors.view();
    if (DrawnLayers::shares_a(layer)) factors.a = this->factors(layer - 1).a;
    if (DrawnLayers::shares_b(layer)) factors.b = this->factors(layer - 1).b;
    return factors;
  }
  void give(Synchronizer<T>& synchronizer, std::size_t layer, const Update& update) {
    const std::string name = DrawnLayers::name(layer);
    if (drawn[layer]->is_sparse && !DrawnLayers::shares_a(layer))
      synchronizer.give(name, {drawn[layer]->a.view(), factors(layer).b}, drawn[layer]->view(), update);
    else
      synchronizer.give(name, factors(layer), drawn[layer]->view(), update);
  }

  std::vector<std::unique_ptr<DrawnFactors<T>>> drawn = {};
};

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
        DrawnStep<T> given(layers, transport.rank(), step, most_pairs, bench::Values::whole);
        synchronizer.begin({.scale = 0.5});
        for (const std::size_t i : layers.order(step)) given.give(synchronizer, i, update_of(i));
        synchronizer.finish();
        std::vector<DrawnStep<T>> all;
        for (int r = 0; r < P; ++r) all.emplace_back(layers, r, step, most_pairs, bench::Values::whole);
        for (std::size_t i = 0; i < layers.count(); ++i) {
          if ((i + step + static_cast<std::size_t>(transport.rank())) % 2 != 0) continue;  // others' ranks look
          DrawnFactors<T> expected(layers, i, transport.rank(), step, 0, bench::Values::whole);
          const auto [n, m] = layers.size(i);
          for (std::size_t row = 0; row < n; ++row)
            for (std::size_t j = 0; j < m; ++j) expected.view().row(row)[j] *= static_cast<T>(update_of(i).beta);
          for (const DrawnStep<T>& theirs : all)
            for (std::size_t row = 0; row < n; ++row)
              bench::add_reference_row<T>(theirs.factors(i), row, static_cast<T>(update_of(i).alpha / 2),
                                          {expected.view().row(row), m});
          failures.check(given[i].target == expected.target, policy + ", seed " + std::to_string(seed) + ", step " +
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
              DrawnStep<float> given(layers, transport.rank(), step, most, bench::Values::fractions);
              synchronizer.begin({.scale = 0.3});
              for (const std::size_t i : layers.order(step)) given.give(synchronizer, i, {0.7, i % 2 == 0 ? 0.9 : 0.0});
              synchronizer.finish();
              for (std::size_t i = 0; i < layers.count(); ++i) {
                if (step == 2 &&
                    ((i + step) % 5 == 0 || (i + step) % 5 + static_cast<std::size_t>(transport.size()) > 5))
                  continue;  // sparse
                DrawnFactors<float> alone(layers, i, transport.rank(), step, most, bench::Values::fractions);
                dsop::dsop(transport, given.factors(i), alone.view(),
                           {.algorithm = "allgather", .scale = 0.3, .alpha = 0.7, .beta = i % 2 == 0 ? 0.9 : 0.0});
                failures.check(given[i].target == alone.target, DrawnLayers::name(i) + " has other bits");
              }
            }
          }
        }) == "");
}
