// Vectors to choose from, and choosing in the plainest way.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/selection.hpp>

#include "algorithms/selection/algorithm.hpp"
#include "inputs.hpp"
#include "kernels/threads.hpp"

namespace dsop::tests {

inline const std::vector<std::size_t> selection_sizes{1, 2, 15, 16, 17, 100, 1023, 1024, 1025, 4097, 9001};

inline std::vector<std::size_t> selection_ks(std::size_t N) {
  std::vector<std::size_t> ks{0, 1, N / 100, N / 2, N - 1, N};
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  return ks;
}

/// Sums of twelve uniform numbers, which are near enough to normal.
template <class T>
std::vector<T> normal_values(std::size_t N) {
  std::vector<T> values(N);
  for (std::size_t i = 0; i < N; ++i) {
    double sum = -6;
    for (std::size_t j = 0; j < 12; ++j) sum += static_cast<double>(bench::mix(12 * i + j) >> 11) * 0x1p-53;
    values[i] = static_cast<T>(sum);
  }
  return values;
}

template <class T>
std::vector<std::pair<std::string, std::vector<T>>> selection_inputs(std::size_t N) {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> normal = normal_values<T>(N);
  const auto made = [&](auto element) {
    std::vector<T> values(N);
    for (std::size_t i = 0; i < N; ++i) values[i] = element(i, bench::mix(i + 77));
    return values;
  };
  return {
      {"normal", normal},
      {"whole", made([](std::size_t, std::uint64_t r) { return static_cast<T>(r % 9) - T{4}; })},
      {"zeros", made([](std::size_t i, std::uint64_t) { return i % 2 == 0 ? T{0} : -T{0}; })},
      {"few", made([](std::size_t, std::uint64_t r) { return r % 50 == 0 ? static_cast<T>(r % 7) - T{3} : T{0}; })},
      {"alike", made([](std::size_t, std::uint64_t r) { return r % 2 == 0 ? T{1} : T{-1}; })},
      {"wide",
       made([&](std::size_t i, std::uint64_t r) { return std::ldexp(normal[i], static_cast<int>(r % 200) - 100); })},
      {"subnormal", made([](std::size_t, std::uint64_t r) { return static_cast<T>(r % 5) * Limits::denorm_min(); })},
      {"not finite", made([&](std::size_t i, std::uint64_t r) {
         const T sign = r % 2 == 0 ? T{1} : T{-1};
         if (r % 61 == 0) return std::copysign(r % 4 < 2 ? Limits::quiet_NaN() : Limits::signaling_NaN(), sign);
         return r % 67 == 0 ? sign * Limits::infinity() : normal[i];
       })},
      {"rising", made([](std::size_t i, std::uint64_t) { return static_cast<T>(i); })},
  };
}

template <class T>
double magnitude(T x) {
  return std::isnan(x) ? std::numeric_limits<double>::infinity() : std::abs(static_cast<double>(x));
}

/// NaN is larger than infinity.
template <class T>
bool is_larger(T x, T y) {
  return magnitude(x) > magnitude(y) || (std::isnan(x) && !std::isnan(y));
}

/// Rising indices; of equals the first.
template <class T>
std::vector<std::uint32_t> k_largest(const std::vector<T>& values, std::size_t k) {
  std::vector<std::uint32_t> indices(values.size());
  std::iota(indices.begin(), indices.end(), 0U);
  std::stable_sort(indices.begin(), indices.end(), [&](auto i, auto j) { return is_larger(values[i], values[j]); });
  indices.resize(k);
  std::sort(indices.begin(), indices.end());
  return indices;
}

template <class T, class Condition>
std::vector<std::uint32_t> indices_where(const std::vector<T>& values, Condition condition) {
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (condition(values[i])) indices.push_back(static_cast<std::uint32_t>(i));
  return indices;
}

template <class T>
std::vector<std::uint32_t> at_least(const std::vector<T>& values, double threshold) {
  return indices_where(values, [&](T x) { return magnitude(x) >= threshold; });
}

template <class T>
std::vector<std::uint32_t> not_finite(const std::vector<T>& values) {
  return indices_where(values, [](T x) { return !std::isfinite(x); });
}

template <class T>
bool same_bits(T x, T y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}

/// What one call chose.
template <class T>
struct Chosen {
  Selection selection;
  std::vector<std::uint32_t> indices;
  std::vector<T> values;

  /// Put back where they were, the chosen elements and the others make up all of `all`.
  bool is_a_part_of(const std::vector<T>& all) const {
    for (std::size_t e = 0; e < indices.size(); ++e)
      if (indices[e] >= all.size() || !same_bits(all[indices[e]], values[e])) return false;
    return true;
  }
  bool operator==(const Chosen& other) const {
    return indices == other.indices && same_values(other) && same_bits(selection.threshold, other.selection.threshold);
  }

 private:
  bool same_values(const Chosen& other) const {
    return std::equal(values.begin(), values.end(), other.values.begin(), other.values.end(), same_bits<T>);
  }
};

/// Throws if the call writes beyond its room.
template <class T>
Chosen<T> select(Selector<T>& selector, const std::vector<T>& values, std::size_t k, std::size_t room) {
  constexpr std::size_t guard = 40;
  Chosen<T> chosen{{}, std::vector<std::uint32_t>(room + guard, 0xabcdef), std::vector<T>(room + guard, T{-77})};
  chosen.selection =
      selector.select(values, k, std::span(chosen.indices).first(room), std::span(chosen.values).first(room));
  for (std::size_t e = room; e < room + guard; ++e)
    if (chosen.indices[e] != 0xabcdef || chosen.values[e] != T{-77}) throw Error("wrote beyond its room");
  chosen.indices.resize(chosen.selection.chosen);
  chosen.values.resize(chosen.selection.chosen);
  return chosen;
}

template <class T>
Chosen<T> select_once(const std::string& algorithm, const std::vector<T>& values, std::size_t k, std::size_t room,
                      SelectionState state = {}) {
  Selector<T> selector(algorithm, state);
  return select<T>(selector, values, k, room);
}

/// Calls body() on a thread that uses so many.
template <class Body>
void with_threads(int threads, const Body& body) {
  std::thread([&] {
    kernels::set_thread_count(threads);
    body();
  }).join();
}

/// The text of the ArgumentError that body() throws; "" if it throws none.
template <class Body>
std::string argument_error(const Body& body) {
  try {
    body();
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

}  // namespace dsop::tests
