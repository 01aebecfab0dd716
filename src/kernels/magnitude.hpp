// |x| as a whole number that rises with |x|: its bits without the sign. Infinity lies above all finite numbers, NaN
// above infinity, so that no comparison has an exception.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "base/bits.hpp"

namespace dsop::kernels {

/// Never negative.
template <class T>
using Key = std::make_signed_t<Bits<T>>;

template <class T>
inline constexpr unsigned key_bits = 8 * sizeof(T) - 1;
template <class T>
inline constexpr Key<T> infinity_key = std::bit_cast<Key<T>>(std::numeric_limits<T>::infinity());
/// The key of every NaN: there are many, and they count as equal.
template <class T>
inline constexpr Key<T> nan_key = infinity_key<T> + 1;

template <class T>
constexpr Key<T> key_of(T x) {
  return std::min<Key<T>>(std::bit_cast<Key<T>>(x) & std::numeric_limits<Key<T>>::max(), nan_key<T>);
}
/// The |x| of a key.
template <class T>
constexpr T magnitude_of(Key<T> key) {
  return key == nan_key<T> ? std::numeric_limits<T>::quiet_NaN() : std::bit_cast<T>(key);
}

template <class T>
struct KeyRange {
  Key<T> low = 0;
  Key<T> high = nan_key<T>;  ///< itself within the range
};

}  // namespace dsop::kernels
