// What c_fuzz.cpp draws its arguments from: good and bad ones.
#pragma once

#include <dsop/dsop.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

namespace fuzz {

inline std::mt19937 generator;

// What a function's first argument is of, and what it gives: a call that is started gives a sum and a pending call,
// each of which may be taken for the other.
enum Kinds : unsigned {
  nothing = 0,
  communicator = 1,
  pending = 2,
  layer = 4,
  rows = 8,
  sparse = 16,
  topk = 32,
  sum = 64,
  synchronizer = 128,
  selector = 256,
  machine = 512
};
constexpr std::size_t kinds = 10;
inline std::array<std::vector<std::uint64_t>, kinds> handles;
constexpr std::size_t most_handles = 8;  // of a kind, so that many are alive
inline unsigned taken_kind = nothing;    // by this call
inline std::uint64_t taken = 0;
inline std::size_t texts_drawn = 0;

inline std::vector<std::uint64_t>& handles_of(unsigned kind) {
  return handles[static_cast<std::size_t>(std::countr_zero(kind))];
}

inline std::array<std::uint64_t, 8192> memory;  // what pointers to arrays point to: 64 KiB, more than sizes ask for
inline std::array<dsop_vector, 64> vectors;
inline std::array<std::uint64_t, 64> new_handles;
constexpr std::size_t largest_size = 40;
constexpr std::size_t usual_size = 4;
inline std::size_t wild_one_in = 1;  // in this call, of its arguments; the others are likely to fit each other

// What says where elements are. Of its own for each call: those that were started read it until they are complete.
struct Places {
  std::array<std::size_t, 16> offsets;    // small numbers, about half of the time rising ones
  std::array<std::uint32_t, 64> indices;  // the same
};
inline std::deque<Places> places;

inline std::size_t draw(std::size_t below) {
  return std::uniform_int_distribution<std::size_t>(0, below - 1)(generator);
}

inline bool one_in(std::size_t n) {
  return draw(n) == 0;
}

inline bool is_wild() {
  return one_in(wild_one_in);
}

inline std::size_t draw_size(std::size_t below) {
  return is_wild() ? draw(below) : usual_size;
}

template <class T>
T* perhaps(T* pointer) {
  return is_wild() && one_in(6) ? nullptr : pointer;
}

constexpr std::array texts{static_cast<const char*>(nullptr),
                           "",
                           "w",
                           "dense",
                           "auto",
                           "ring",
                           "topk:0.5",
                           "v",
                           "allgather",
                           "scale=0.5",
                           "alpha=2; beta=0.5",
                           "algorithm=ring",
                           "algorithm=ok-topk",
                           "scale=x",
                           "=;=;",
                           "wire=bf16",
                           "factor_wire=bf16",
                           "machine=/no/such/file",
                           "machine=handle:3",
                           "machine=handle:-1",
                           "algorithm=",
                           "latency_seconds",
                           "ring_step_seconds[5]",
                           "beta=1; beta=1",
                           "density_a=2",
                           "bucket_bytes=64",
                           "run=fuzz; restart=1"};

inline const char* draw_text() {
  constexpr std::array of_a_parameter{"w", "dense", ""};
  const std::size_t before = texts_drawn++;
  if (is_wild()) return texts[draw(texts.size())];
  if (taken_kind == machine) return "latency_seconds";
  return taken_kind == synchronizer ? of_a_parameter[before] : nullptr;
}

inline void draw_places() {
  auto& [offsets, indices] = places.emplace_back();
  for (std::size_t& offset : offsets) offset = draw(8);
  for (std::size_t i = 0, sum = 0; i < offsets.size() && one_in(2); ++i) offsets[i] = sum += i > 0 ? draw(2) : 0;
  for (std::uint32_t& index : indices) index = static_cast<std::uint32_t>(draw(largest_size));
  if (one_in(2)) std::iota(indices.begin(), indices.end(), std::uint32_t{0});
}

inline dsop_factor draw_factor() {
  return {perhaps(memory.data() + draw(100)),
          draw_size(8),
          draw_size(8),
          draw_size(12),
          is_wild() && one_in(2) ? places.back().offsets.data() : nullptr,
          perhaps(places.back().indices.data()),
          draw(largest_size)};
}

inline dsop_matrix draw_matrix() {
  return {perhaps(memory.data() + 1000 + draw(100)), draw_size(8), draw_size(8), draw_size(12)};
}

inline dsop_vector draw_vector() {
  return {draw_size(largest_size), draw_size(largest_size), perhaps(places.back().indices.data()),
          perhaps(memory.data())};
}

inline int body_of_rank(dsop_communicator, void*) {
  return 0;
}
inline void hear_stall(const char*, void*) {}

// A store that loses what is set, so that nobody waits for other ranks.
inline int set_nothing(const char*, const char*, void*) {
  return one_in(4) ? -1 : 0;
}
inline int get_anything(const char*, char* value, std::size_t room, void*) {
  std::fill_n(value, one_in(2) ? room - 1 : 0, 'x');
  return one_in(4) ? -1 : 0;
}
inline int wait_for_nothing(const char*, double, void*) {
  return static_cast<int>(draw(3)) - 1;
}

// Structures that calls read after they have returned would be a bug of the library: they change with each call.
inline dsop_factor factors[2];
inline dsop_matrix matrix;

template <class Parameter>
Parameter argument() {
  if constexpr (std::is_same_v<Parameter, const char*>) {
    return draw_text();
  } else if constexpr (std::is_same_v<Parameter, std::size_t>) {
    return draw_size(largest_size);
  } else if constexpr (std::is_same_v<Parameter, int>) {
    return is_wild() ? static_cast<int>(draw(6)) - 1 : static_cast<int>(draw(2));
  } else if constexpr (std::is_same_v<Parameter, double>) {
    constexpr std::array numbers{0.0, 1.0, 0.5, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()};
    return is_wild() ? numbers[draw(numbers.size())] : 1;
  } else if constexpr (std::is_same_v<Parameter, const dsop_factor*>) {
    dsop_factor& factor = factors[draw(2)];
    factor = draw_factor();
    return perhaps(&factor);
  } else if constexpr (std::is_same_v<Parameter, const dsop_matrix*>) {
    matrix = draw_matrix();
    return perhaps(&matrix);
  } else if constexpr (std::is_same_v<Parameter, const dsop_vector*>) {
    for (dsop_vector& vector : vectors) vector = draw_vector();
    return perhaps(vectors.data());
  } else if constexpr (std::is_same_v<Parameter, std::uint64_t*>) {
    return perhaps(new_handles.data() + draw(8));
  } else if constexpr (std::is_same_v<Parameter, const std::size_t*>) {
    return perhaps(places.back().offsets.data());
  } else if constexpr (std::is_same_v<Parameter, int (*)(void)>) {
    return nullptr;
  } else if constexpr (std::is_same_v<Parameter, int (*)(dsop_communicator, void*)>) {
    return perhaps(body_of_rank);
  } else if constexpr (std::is_same_v<Parameter, void (*)(const char*, void*)>) {
    return perhaps(hear_stall);
  } else if constexpr (std::is_same_v<Parameter, int (*)(const char*, const char*, void*)>) {
    return perhaps(set_nothing);
  } else if constexpr (std::is_same_v<Parameter, int (*)(const char*, char*, std::size_t, void*)>) {
    return perhaps(get_anything);
  } else if constexpr (std::is_same_v<Parameter, int (*)(const char*, double, void*)>) {
    return perhaps(wait_for_nothing);
  } else {
    static_assert(std::is_pointer_v<Parameter>);
    return perhaps(reinterpret_cast<Parameter>(memory.data() + 2048 * (1 + draw(3))));
  }
}

inline std::uint64_t draw_handle() {
  if (is_wild() && one_in(8)) return taken = draw(1000);  // likely a dead one
  const std::vector<std::uint64_t>& drawn_from = is_wild() ? handles[draw(kinds)] : handles_of(taken_kind);
  return taken = drawn_from.empty() ? 0 : drawn_from[draw(drawn_from.size())];
}

// Handles stand first, and are of the same type as sizes.
template <class Parameter>
Parameter first_argument(bool is_handle) {
  if constexpr (std::is_same_v<Parameter, std::uint64_t>) {
    return is_handle ? draw_handle() : argument<Parameter>();
  } else {
    return argument<Parameter>();
  }
}

}  // namespace fuzz
