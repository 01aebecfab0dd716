// A sum of vectors that come one after the other, or some at a time.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "sparse/merge.hpp"

namespace dsop::sparse {

/// The sum of vectors in the order in which they are added. Its bits and its form do not depend on how many are added
/// at a time: it becomes dense with the vector that is dense or with which all indices together exceed `most`.
template <class T>
class RunningSum {
 public:
  /// The sum is made in the two memories by turns, each of which holds `dimension` elements, or all pairs that will be
  /// added where they are no more than `most`; dense in the first where `most` is 0.
  RunningSum(std::size_t dimension, std::size_t most, std::span<T> memory, std::span<T> other)
      : memory_(memory), other_(other), most_(most), sum_{dimension, {}, {}} {}

  /// Uses up the views in `vectors`. Cost: a pass over what they hold, and over the sum so far where that is sparse.
  void add(std::span<SparseVectorView<T>> vectors) {
    std::size_t sparse = 0;
    while (sparse < vectors.size() && stays_sparse_with(vectors[sparse])) ++sparse;
    if (sparse > 0) merge(vectors.first(sparse));
    for (const SparseVectorView<T>& x : vectors.subspan(sparse)) add_to_dense(x);
  }
  const SparseVectorView<T>& sum() const { return sum_; }
  /// Memory of the size of the sum in which it is not.
  std::span<T> other() const { return sum_.dense() ? other_ : memory_; }

 private:
  bool stays_sparse_with(const SparseVectorView<T>& x) {
    total_ += x.indices.size();
    sparse_ = sparse_ && most_ > 0 && !x.dense() && total_ <= most_;
    return sparse_;
  }
  void merge(std::span<SparseVectorView<T>> vectors) {
    std::size_t pairs = sum_.indices.size();
    for (const SparseVectorView<T>& x : vectors) pairs += x.indices.size();
    check_room(pairs * (sizeof(T) + sizeof(Index)), memory_.size_bytes());
    sum_ = vectors.size() == 1 ? sparse::merge(sum_, vectors[0], memory_) : merge_all(sum_, vectors, memory_);
    std::swap(memory_, other_);
  }
  void add_to_dense(const SparseVectorView<T>& x) {
    check_room(sum_.dimension * sizeof(T), memory_.size_bytes());
    const std::span<T> dense = memory_.first(sum_.dimension);
    if (sum_.values.data() == dense.data() && sum_.dense()) return add_scaled(dense, T{1}, x);
    const bool is_first = sum_.values.empty();
    expand(is_first ? x : sum_, dense);
    if (!is_first) add_scaled(dense, T{1}, x);
    sum_ = {sum_.dimension, {}, dense};
  }

  std::span<T> memory_;  ///< where the next sum is made
  std::span<T> other_;
  std::size_t most_;
  std::size_t total_ = 0;
  bool sparse_ = true;
  SparseVectorView<T> sum_;
};

}  // namespace dsop::sparse
