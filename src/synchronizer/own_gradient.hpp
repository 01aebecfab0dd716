// What backpropagation hands over for a parameter, and this rank's own gradient made of it.
#pragma once

#include <span>
#include <variant>

#include <dsop/sparse.hpp>
#include <dsop/synchronizer.hpp>
#include <dsop/views.hpp>

#include "memory/workspace.hpp"

namespace dsop::synchronizer {

template <class T>
struct Given {
  /// monostate: what stands in the target.
  std::variant<std::monostate, SparseFactors<T>, SparseVectorView<T>> own = {};
  MatrixView<T> target = {};
  Update update = {};

  T alpha() const { return static_cast<T>(update.alpha); }
  T beta() const { return static_cast<T>(update.beta); }

  bool factors() const { return std::holds_alternative<SparseFactors<T>>(own); }
  bool vector() const { return std::holds_alternative<SparseVectorView<T>>(own); }
};

/// target = beta target + alpha sum.
template <class T>
void update_target(const Given<T>& given, const SparseVectorView<T>& sum);

/// Makes gradients, and keeps the memory that it needs for that.
template <class T>
class OwnGradient {
 public:
  /// Takes all memory that make() will need for what is given. Throws std::bad_alloc.
  void reserve(const Given<T>& given);
  /// to = factor times the gradient + `added`, which stands row by row; empty: nothing is. `to` may be the gradient
  /// itself, but not `added`.
  void make(const Given<T>& given, T factor, std::span<const T> added, MatrixView<T> to);
  /// target = beta target + alpha factor times the gradient.
  void update_target(const Given<T>& given, T factor);

 private:
  /// to = alpha times the product + beta to.
  void make_product(const SparseFactors<T>& factors, T alpha, T beta, MatrixView<T> to);

  Workspace<std::byte> memory_;  // of sparse factors: their rows as streams, and what their product needs
};

}  // namespace dsop::synchronizer
