// What is read, written and sent while a machine is measured.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <dsop/machine.hpp>
#include <dsop/views.hpp>

#include "base/largest_inner_dimension.hpp"
#include "base/streaming_bytes.hpp"
#include "kernels/outer_product.hpp"
#include "machine/measure.hpp"
#include "memory/workspace.hpp"

namespace dsop {

/// Inner dimensions of which our kernel makes products, and BLAS where it keeps up.
constexpr std::size_t own_kernel_pairs = 64;
constexpr std::size_t blas_pairs = 256;
static_assert(own_kernel_pairs <= largest_inner_dimension<float> && largest_inner_dimension<float> < blas_pairs);

/// Two vectors, one behind the other, which messages come from and go to; a factor of products, and what they write.
class MeasuredMemory {
 public:
  /// Before anything is measured, so that pages are there. Throws std::bad_alloc.
  void take(const Effort& effort) {
    vectors_.resize(2 * effort.vector_elements * sizeof(float));
    factor_.resize(blas_pairs * effort.product_side * sizeof(float));
    result_.resize(effort.product_side * effort.product_side * sizeof(float));
    kernels::reserve_product<float>();
    for (const Workspace<float>* const touched : {&vectors_, &factor_, &result_})
      std::ranges::fill(touched->elements(), 1.0F);
  }

  std::span<float> both() const { return vectors_.elements(); }
  std::span<float> sum() const { return both().first(both().size() / 2); }
  std::span<float> terms() const { return both().last(both().size() / 2); }
  /// Where the next message is sent from, and where it goes. Rows of G come from memory; what has just been sent would
  /// come from a cache. What is sent again was sent a whole vector before.
  std::span<std::byte> next_out(std::size_t bytes) { return next(terms(), out_bytes_, bytes); }
  std::span<std::byte> next_in(std::size_t bytes) { return next(sum(), in_bytes_, bytes); }

  MatrixView<float> square(std::size_t side) const { return {result_.elements().data(), side, side}; }
  void product(std::size_t pairs, MatrixView<float> c) const {
    const float* const factor = factor_.elements().data();
    kernels::product<float>({factor, pairs, c.rows}, {factor, pairs, c.columns}, c, 1, 0);
  }

 private:
  static std::span<std::byte> next(std::span<float> vector, std::size_t& passed_bytes, std::size_t bytes) {
    constexpr std::size_t line_bytes = 64;
    const auto all = std::as_writable_bytes(vector);
    if (passed_bytes + bytes > all.size()) passed_bytes = 0;
    const auto message = all.subspan(passed_bytes, bytes);
    passed_bytes += (bytes + line_bytes - 1) / line_bytes * line_bytes;
    return message;
  }

  Workspace<float> vectors_, factor_, result_;
  std::size_t out_bytes_ = 0, in_bytes_ = 0;
};

// A message lies in a vector, and what is added; a large G in both.
static_assert(std::ranges::all_of(std::array{probe_of_nodes, probe_of_one_node, effort_of_calibration},
                                  [](const Effort& effort) {
                                    return effort.vector_elements * sizeof(float) >= step_bytes.back() &&
                                           effort.vector_elements >= effort.added_elements &&
                                           (effort.large_write_samples == 0 ||
                                            2 * effort.vector_elements * sizeof(float) >= streaming_bytes);
                                  }));

}  // namespace dsop
