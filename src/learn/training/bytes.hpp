// Values in a run of bytes, one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <dsop/errors.hpp>

#include "base/fnv.hpp"

namespace dsop::learn {

template <class T>
void append(std::string& bytes, const T& value) requires std::is_trivially_copyable_v<T> {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
void append_array(std::string& bytes, std::span<const T> values) {
  append(bytes, std::uint64_t{values.size()});
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

/// Takes from the front of `bytes` what append() has put there. Throws Error where there is too little.
template <class T>
T take(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) throw Error("ends too early");
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}
/// The array's bytes.
inline std::string_view take_array(std::string_view& bytes, std::size_t element_bytes) {
  const auto count = take<std::uint64_t>(bytes);
  if (count > bytes.size() / element_bytes) throw Error("ends too early");
  const std::string_view array = bytes.substr(0, count * element_bytes);
  bytes.remove_prefix(array.size());
  return array;
}

}  // namespace dsop::learn
