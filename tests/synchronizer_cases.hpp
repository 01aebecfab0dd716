// A model's gradients in every form, and what a synchronizer must make of them, over any transport.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include <dsop/sparse_allreduce.hpp>
#include <dsop/synchronizer.hpp>

#include "failures.hpp"
#include "inputs.hpp"
#include "outer_product_cases.hpp"
#include "sparse_allreduce_cases.hpp"
#include "turns.hpp"

namespace dsop::tests {

/// How a parameter is given.
enum class Giving { factors, sparse_factors, gradient, gradient_with_gaps, vector, full_vector };

struct LayerCase {
  std::string name;
  std::size_t rows;
  std::size_t columns;
  Giving giving;

  std::size_t elements() const { return rows * columns; }
  bool by_factors() const { return giving == Giving::factors || giving == Giving::sparse_factors; }
  Shape shape() const { return {.rows = rows, .columns = columns, .max_pairs = by_factors() ? 4UL : 0UL}; }
};

inline std::vector<LayerCase> layer_cases() {
  return {
      {"embedding", 50, 6, Giving::vector},
      {"first.weight", 33, 17, Giving::factors},
      {"first.bias", 1, 17, Giving::gradient},
      {"second.weight", 17, 40, Giving::sparse_factors},
      {"second.bias", 40, 1, Giving::gradient_with_gaps},
      {"kernel", 9, 31, Giving::gradient_with_gaps},
      {"nothing", 0, 5, Giving::gradient},
      {"scale", 1, 1, Giving::full_vector},
      {"last.weight", 61, 43, Giving::factors},
      {"last.bias", 1, 43, Giving::gradient},
  };
}

/// What a rank gives for a parameter in a step: small whole numbers. Every rank can make every other's.
template <class T>
class GivenLayer {
 public:
  GivenLayer(const LayerCase& layer, int rank, std::size_t step)
      : layer_(layer),
        factors_(bench::mix(step) + layer.elements(), rank, (static_cast<std::size_t>(rank) + step) % 4 + 1, layer.rows,
                 layer.columns, bench::Values::whole, 0, densities(layer)),
        a_(factors_.view().a),
        b_(factors_.view().b),
        gap_(layer.giving == Giving::gradient_with_gaps ? 3 : 0),
        G_(layer.rows * (layer.columns + gap_), untouched<T>),
        own_(layer.elements()) {
    const bool is_sparse = layer.giving == Giving::vector;
    for (std::size_t i = 0; i < layer.rows; ++i) {
      const std::span<T> row(own_.data() + i * layer.columns, layer.columns);
      if (layer.by_factors()) {
        bench::add_reference_row<T>(factors_.view(), i, T{1}, row);
        continue;
      }
      for (std::size_t j = 0; j < layer.columns; ++j) {
        const std::uint64_t bits = bench::mix(bench::mix(100 * step + layer.elements()) +
                                              1000000 * static_cast<std::uint64_t>(rank) + i * layer.columns + j);
        if (!is_sparse || bits % 7 == 0) row[j] = static_cast<T>(static_cast<int>(bits >> 8 & 15) - 7);
        if (layer.giving == Giving::gradient || gap_ > 0) gradient().row(i)[j] = row[j];
      }
    }
    for (std::size_t e = 0; e < own_.size(); ++e)
      if (own_[e] != T{0}) {
        indices_.push_back(static_cast<std::uint32_t>(e));
        values_.push_back(own_[e]);
      }
  }

  void give(Synchronizer<T>& synchronizer) {
    const std::string& name = layer_.name;
    if (layer_.giving == Giving::factors) return synchronizer.give(name, factors_.view(), gradient());
    if (layer_.giving == Giving::sparse_factors) return synchronizer.give(name, {a_.view(), b_.view()}, gradient());
    if (layer_.giving == Giving::vector)
      return synchronizer.give(name, SparseVectorView<T>{own_.size(), indices_, values_}, gradient());
    if (layer_.giving == Giving::full_vector)
      return synchronizer.give(name, SparseVectorView<T>{own_.size(), {}, own_}, gradient());
    synchronizer.give(name, gradient());
  }
  /// Of what does not stand in the gradient.
  void give(Synchronizer<T>& synchronizer, MatrixView<T> target, const Update& update) {
    const std::string& name = layer_.name;
    const bool full = layer_.giving == Giving::full_vector;
    if (layer_.giving == Giving::factors) return synchronizer.give(name, factors_.view(), target, update);
    if (layer_.by_factors()) return synchronizer.give(name, {a_.view(), b_.view()}, target, update);
    synchronizer.give(
        name, full ? SparseVectorView<T>{own_.size(), {}, own_} : SparseVectorView<T>{own_.size(), indices_, values_},
        target, update);
  }

  MatrixView<T> gradient() { return {G_.data(), layer_.rows, layer_.columns, layer_.columns + gap_}; }
  /// This rank's own gradient, whole.
  const std::vector<T>& own() const { return own_; }
  /// What stands in the gradient, without its gaps; empty if something stands in those.
  std::vector<T> result() {
    std::vector<T> elements;
    for (std::size_t i = 0; i < layer_.rows; ++i) {
      const T* const row = gradient().row(i);
      elements.insert(elements.end(), row, row + layer_.columns);
      if (std::any_of(row + layer_.columns, row + layer_.columns + gap_, [](T x) { return x != untouched<T>; }))
        return {};
    }
    return elements;
  }

 private:
  static bench::Densities densities(const LayerCase& layer) {
    return layer.giving == Giving::sparse_factors ? bench::Densities{.a = 0.2, .b = 0.3} : bench::Densities{};
  }

  LayerCase layer_;
  bench::InputFactors<T> factors_;
  bench::Compressed<T> a_;
  bench::Compressed<T> b_;
  std::size_t gap_;
  std::vector<T> G_;
  std::vector<T> own_;
  std::vector<std::uint32_t> indices_;
  std::vector<T> values_;
};

/// The sum over ranks, times `factor`. Made once for all ranks of a process and all policies.
template <class T>
std::vector<T> expected_sum(const LayerCase& layer, int P, std::size_t step, T factor = T{1}) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, int, std::size_t>, std::vector<T>> sums;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = sums.try_emplace({layer.name, P, step}, layer.elements());
  if (is_new)
    for (int r = 0; r < P; ++r) {
      const GivenLayer<T> given(layer, r, step);
      std::ranges::transform(found->second, given.own(), found->second.begin(), std::plus());
    }
  std::vector<T> sum = found->second;
  for (T& element : sum) element *= factor;
  return sum;
}

/// A synchronizer of all layers under one policy, and its steps.
template <class T>
class Model {
 public:
  Model(Transport& transport, const std::string& policy, SynchronizerOptions options = {.bucket_bytes = 400})
      : transport_(transport), synchronizer_(transport, options), layers_(layer_cases()) {
    for (const LayerCase& layer : layers_) synchronizer_.add(layer.name, layer.shape(), policy);
  }

  /// Gives all layers, last first, and waits.
  void run(std::size_t step, const Step& terms = {}) {
    given_.clear();
    synchronizer_.begin(terms);
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      given_.push_back(std::make_unique<GivenLayer<T>>(*layer, transport_.rank(), step));
      given_.back()->give(synchronizer_);
    }
    synchronizer_.finish();
  }
  std::vector<T> result(const LayerCase& layer) {
    const auto at = static_cast<std::size_t>(&layer - layers_.data());
    return given_[layers_.size() - 1 - at]->result();
  }
  /// The layers whose gradients are not `factor` times the sum over ranks.
  std::string wrong(std::size_t step, T factor = T{1}) {
    std::string names;
    for (const LayerCase& layer : layers_)
      if (result(layer) != expected_sum<T>(layer, transport_.size(), step, factor)) names += " " + layer.name;
    return names;
  }

  /// The layers whose gradients, of whole numbers, are not the same on all ranks.
  std::string differing() {
    std::vector<T> own;
    for (const LayerCase& layer : layers_) {
      const std::vector<T> of_layer = result(layer);
      own.insert(own.end(), of_layer.begin(), of_layer.end());
      own.resize(own.size() + layer.elements() - of_layer.size());
    }
    const std::vector<T> all = in_full(sparse_allreduce<T>(transport_, {own.size(), {}, own}).sum);
    std::string names;
    std::size_t at = 0;
    for (const LayerCase& layer : layers_) {
      bool differs = false;
      for (const std::size_t end = at + layer.elements(); at < end; ++at)
        differs = differs || own[at] * static_cast<T>(transport_.size()) != all[at];
      if (differs) names += " " + layer.name;
    }
    return names;
  }

  Synchronizer<T>& synchronizer() { return synchronizer_; }
  const std::vector<LayerCase>& layers() const { return layers_; }

 private:
  Transport& transport_;
  Synchronizer<T> synchronizer_;
  std::vector<LayerCase> layers_;
  std::vector<std::unique_ptr<GivenLayer<T>>> given_;  // in the order of giving
};

/// Every exact policy, several steps each, whole numbers and ==; with overlap and without by turns.
template <class T>
void check_exact_policies(Transport& transport, Failures& failures) {
  std::size_t turn = static_cast<std::size_t>(transport.size()) + sizeof(T) / 4;
  for (const char* const policy : {"dsop", "dsop:allgather", "dsop:generalized-rabenseifner", "dense", "dense:ring",
                                   "dense:butterfly-pipelined(2)", "dense-overlapped:ring", "sparse",
                                   "sparse:ssar-split-allgather", "sparse:dense-ring"}) {
    ++turn;
    for (const bool overlap : {true, false}) {
      if (!takes_turn(turn + (overlap ? 1 : 0), 2)) continue;
      Model<T> model(transport, policy, {.bucket_bytes = 400, .overlap = overlap});
      for (std::size_t step = 1; step <= 3; ++step) {
        const T scale = step == 2 ? T{1} / 2 : T{1};
        model.run(step, {.scale = scale, .learning_rate = 0.25});
        const std::string wrong = model.wrong(step, scale);
        failures.check(wrong.empty(), std::string(policy) + ", step " + std::to_string(step) + ": wrong are" + wrong);
      }
    }
  }
}

/// Whether a number stands in what describe() says.
inline bool has_number(const std::string& table, std::size_t number) {
  const std::string text = ' ' + std::to_string(number);
  return table.find(text + ' ') != std::string::npos || table.find(text + '\n') != std::string::npos;
}

}  // namespace dsop::tests
