#include "kernels/magnitude_sums.hpp"

#include <cstdint>
#include <limits>

#include <dsop/product_method.hpp>
#include <dsop/types.hpp>

namespace dsop::kernels {
namespace {

using Doubles [[gnu::vector_size(32)]] = double;
using Bits [[gnu::vector_size(32)]] = std::int64_t;
constexpr std::size_t lanes = 4;
constexpr std::size_t vectors = 2;

template <class T>
struct Few {
  using type [[gnu::vector_size(lanes * sizeof(T)), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};

/// `value` where `mask` has all bits, zero where it has none.
[[gnu::always_inline]] inline void keep(Doubles& value, const Bits& mask) {
  value = reinterpret_cast<Doubles>(reinterpret_cast<Bits>(value) & mask);
}

/// Adds of(values, terms) to the sums, lane by lane.
template <std::size_t numbers, class T, class Of>
[[gnu::always_inline]] inline void add_lanes(const T* values, Doubles (&sums)[numbers][vectors], const Of& of) {
  for (std::size_t v = 0; v < vectors; ++v) {
    const Doubles x =
        __builtin_convertvector(*reinterpret_cast<const typename Few<T>::type*>(values + v * lanes), Doubles);
    Doubles terms[numbers];
    of(x, terms);
    for (std::size_t number = 0; number < numbers; ++number) sums[number][v] += terms[number];
  }
}

/// totals[number] = sum of of(value)'s terms, all of which are zero for NaN.
template <std::size_t numbers, class T, class Of>
[[gnu::always_inline]] inline void sum(std::span<const T> values, double (&totals)[numbers], const Of& of) {
  constexpr std::size_t step = lanes * vectors;
  Doubles sums[numbers][vectors] = {};
  std::size_t i = 0;
  for (; i + step <= values.size(); i += step) add_lanes(values.data() + i, sums, of);
  T rest[step];
  for (std::size_t r = 0; r < step; ++r)
    rest[r] = i + r < values.size() ? values[i + r] : std::numeric_limits<T>::quiet_NaN();
  add_lanes(rest, sums, of);
  for (std::size_t number = 0; number < numbers; ++number) {
    totals[number] = 0;
    for (std::size_t v = 0; v < vectors; ++v)
      for (std::size_t lane = 0; lane < lanes; ++lane) totals[number] += sums[number][v][lane];
  }
}

const Doubles ones = {1, 1, 1, 1};
const Bits no_sign = Bits{} + std::numeric_limits<std::int64_t>::max();

template <class T>
[[gnu::always_inline]] inline Moments moments_of(std::span<const T> values) {
  double totals[3];
  sum(
      values, totals, [](const Doubles& x, Doubles(&terms)[3]) __attribute__((always_inline)) {
        const Bits finite = reinterpret_cast<Doubles>(reinterpret_cast<Bits>(x) & no_sign) <=
                            Doubles{} + std::numeric_limits<double>::max();
        terms[0] = ones;
        keep(terms[0], finite);
        terms[1] = x;
        keep(terms[1], finite);
        terms[2] = terms[1] * terms[1];
      });
  return {totals[0], totals[1], totals[2]};
}

template <class T>
[[gnu::always_inline]] inline Below below_of(std::span<const T> values, double threshold, double scale) {
  double totals[2];
  sum(
      values, totals, [ threshold, scale ](const Doubles& x, Doubles(&terms)[2]) __attribute__((always_inline)) {
        terms[1] = reinterpret_cast<Doubles>(reinterpret_cast<Bits>(x) & no_sign) * scale;
        const Bits below = terms[1] < Doubles{} + threshold;
        keep(terms[1], below);
        terms[0] = ones;
        keep(terms[0], below);
      });
  return {totals[0], totals[1]};
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2")]] Moments moments_avx2(std::span<const T> values) {
  return moments_of(values);
}

template <class T>
[[gnu::target("avx2")]] Below below_avx2(std::span<const T> values, double threshold, double scale) {
  return below_of(values, threshold, scale);
}
#endif

}  // namespace

Moments& Moments::operator+=(const Moments& other) {
  count += other.count;
  sum += other.sum;
  squares += other.squares;
  return *this;
}

Below& Below::operator+=(const Below& other) {
  count += other.count;
  sum += other.sum;
  return *this;
}

template <class T>
Moments moments(std::span<const T> values) {
#if defined(__x86_64__)
  if (best_instruction_set() >= InstructionSet::avx2) return moments_avx2(values);
#endif
  return moments_of(values);
}

template <class T>
Below sum_below(std::span<const T> values, double threshold, double scale) {
#if defined(__x86_64__)
  if (best_instruction_set() >= InstructionSet::avx2) return below_avx2(values, threshold, scale);
#endif
  return below_of(values, threshold, scale);
}

#define INSTANTIATE(T)                          \
  template Moments moments(std::span<const T>); \
  template Below sum_below(std::span<const T>, double, double);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::kernels
