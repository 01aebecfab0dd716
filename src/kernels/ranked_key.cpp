// One generic body, which the compiler makes vectors of, inlined into one thin function an instruction set.
#include "kernels/ranked_key.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <dsop/product_method.hpp>

namespace dsop::kernels {
namespace {

template <class Number>
[[gnu::always_inline]] inline std::size_t count_from(std::span<const Number> keys, Number key) {
  using Count = std::make_unsigned_t<Number>;
  const Number* const numbers = keys.data();
  Count count = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) count += static_cast<Count>(numbers[i] >= key ? 1 : 0);
  return count;
}

template <class Number>
Number least_from(std::span<const Number> keys, Number key) {
  Number least = std::numeric_limits<Number>::max();
  for (const Number other : keys) least = other >= key ? std::min(other, least) : least;
  return least;
}

template <class Number>
std::size_t count_baseline(std::span<const Number> keys, Number key) {
  return count_from(keys, key);
}

#if defined(__x86_64__)
template <class Number>
[[gnu::target("avx2")]] std::size_t count_avx2(std::span<const Number> keys, Number key) {
  return count_from(keys, key);
}

template <class Number>
[[gnu::target("avx512f")]] std::size_t count_avx512(std::span<const Number> keys, Number key) {
  return count_from(keys, key);
}
#endif

template <class Number>
using CountFrom = std::size_t (*)(std::span<const Number> keys, Number key);

template <class Number>
CountFrom<Number> counter([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return count_avx512<Number>;
  if (set == InstructionSet::avx2) return count_avx2<Number>;
#endif
  return count_baseline<Number>;
}

}  // namespace

template <class Number>
Number ranked_key(std::span<const Number> keys, std::size_t rank) {
  const CountFrom<Number> count = counter<Number>(best_instruction_set());
  Number all_bits = 0;
  for (const Number key : keys) all_bits |= key;
  Number found = 0;
  for (auto bit = std::bit_floor(static_cast<std::make_unsigned_t<Number>>(all_bits)); bit != 0; bit /= 2) {
    const auto higher = static_cast<Number>(static_cast<std::make_unsigned_t<Number>>(found) | bit);
    const std::size_t reached = count(keys, higher);
    if (reached == rank) return least_from(keys, higher);
    if (reached > rank) found = higher;
  }
  return found;
}

template std::int32_t ranked_key(std::span<const std::int32_t>, std::size_t);
template std::int64_t ranked_key(std::span<const std::int64_t>, std::size_t);

}  // namespace dsop::kernels
