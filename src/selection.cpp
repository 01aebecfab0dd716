// The public call of a selection: arguments, then the algorithm.
#include <dsop/selection.hpp>

#include <functional>
#include <limits>

#include <dsop/types.hpp>

#include "algorithms/selection/algorithm.hpp"
#include "algorithms/selection/ranges.hpp"
#include "base/check_aligned.hpp"
#include "base/named.hpp"
#include "base/refuse.hpp"
#include "kernels/compact.hpp"
#include "kernels/float_mode.hpp"

namespace dsop {
namespace {

template <class T>
bool apart(std::span<const T> left, std::span<const std::byte> right) {
  const std::span<const std::byte> bytes = std::as_bytes(left);
  const std::less_equal<const std::byte*> before;
  return before(bytes.data() + bytes.size(), right.data()) || before(right.data() + right.size(), bytes.data());
}

template <class T>
void check(std::span<const T> values, std::size_t k, std::span<sparse::Index> indices, std::span<T> chosen) {
  check_aligned(values.data(), "values");
  check_aligned(indices.data(), "indices");
  check_aligned(chosen.data(), "chosen");
  if (values.empty() || values.size() > sparse::most_elements) refuse("values.size()", values.size(), "1 to 2^32");
  if (k > values.size()) refuse("k", k, "at most values.size() = " + std::to_string(values.size()));
  if (chosen.size() < k) refuse("chosen.size()", chosen.size(), "room for at least k = " + std::to_string(k));
  if (indices.size() != chosen.size())
    refuse("indices.size()", indices.size(), "chosen.size() = " + std::to_string(chosen.size()));
  if (!apart<T>(values, std::as_bytes(chosen)) || !apart<T>(values, std::as_bytes(indices)))
    throw ArgumentError("chosen or indices overlaps values, expected memory of its own");
}

struct NotFinite {
  std::size_t nans = 0;
  std::size_t infinities = 0;

  NotFinite& operator+=(const NotFinite& other) {
    nans += other.nans;
    infinities += other.infinities;
    return *this;
  }
};

template <class T>
NotFinite count_not_finite(std::span<const T> values) {
  NotFinite counts;
  kernels::Picked<T> picked;
  const kernels::Compact<T> compact = kernels::compactor<T>(best_instruction_set());
  selection::for_blocks(values, 0, values.size(), [&](std::span<const T> block, std::size_t) {
    const std::size_t found = compact(block, 0, {.low = kernels::infinity_key<T>}, picked);
    for (std::size_t e = 0; e < found; ++e)
      ++(kernels::key_of(picked.values[e]) == kernels::nan_key<T> ? counts.nans : counts.infinities);
    return true;
  });
  return counts;
}

}  // namespace

template <class T>
struct Selector<T>::Impl {
  const SelectionAlgorithm& algorithm;
  double parameter;
  SelectionState state;
  selection::Memory<T> memory = {};
};

template <class T>
Selector<T>::Selector(const std::string& algorithm, SelectionState state) {
  const SelectionAlgorithm& named = find_algorithm(algorithm, "algorithm", selection_algorithms());
  impl_ = std::unique_ptr<Impl>(new Impl{named, numbers_of(algorithm, {&named.parameter}).front(), state});
}

template <class T>
Selector<T>::Selector(Selector&&) noexcept = default;
template <class T>
Selector<T>& Selector<T>::operator=(Selector&&) noexcept = default;
template <class T>
Selector<T>::~Selector() = default;

template <class T>
Selection Selector<T>::select(std::span<const T> values, std::size_t k, std::span<std::uint32_t> indices,
                              std::span<T> chosen) {
  check(values, k, indices, chosen);
  const kernels::DefaultFloatMode mode;  // outside of calls too
  SelectionState state = impl_->state;
  SelectionCall<T> call{
      values,        k,       impl_->parameter, state,
      impl_->memory, indices, chosen,           impl_->algorithm.in_buckets ? &*impl_->algorithm.in_buckets : nullptr};
  call.threshold = std::numeric_limits<double>::infinity();
  if (k > 0) impl_->algorithm.run(call);
  ++state.step;
  impl_->state = state;

  const std::span<const T> where = call.has_all_not_finite ? chosen.first(call.count) : values;
  const NotFinite not_finite = selection::sum_over(where, count_not_finite<T>);
  return {call.count,      call.threshold,
          not_finite.nans, not_finite.infinities,
          call.evaluated,  call.predicted.value_or(call.count)};
}

template <class T>
const SelectionState& Selector<T>::state() const {
  return impl_->state;
}

#define INSTANTIATE(T) template class Selector<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
