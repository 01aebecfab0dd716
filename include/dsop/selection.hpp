// Choosing the elements of a vector that stand for all of it: the largest, or about as many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace dsop {

/// What a selection keeps between calls, and nothing else: save it with a checkpoint, one for each parameter.
struct SelectionState {
  std::uint64_t step = 0;  ///< calls so far
  std::uint64_t seed = 1;  ///< of what is drawn; with `step` it decides the draws of a call
  double threshold = 0;    ///< the last one that was measured, for algorithms that reuse it

  bool operator==(const SelectionState&) const = default;
};

/// What a call chose.
struct Selection {
  std::size_t chosen = 0;
  double threshold = 0;        ///< what the algorithm compared magnitudes with; NaN: only NaN reached it
  std::size_t nans = 0;        ///< in all values, chosen or not
  std::size_t infinities = 0;  ///< the same
  bool evaluated = false;      ///< of those that reuse a threshold: this call found it anew
  /// How many elements reached the threshold that `gaussian` predicts, before it is corrected; of others what is
  /// chosen.
  std::size_t predicted = 0;
};

/// Chooses about k of a vector's elements, over and over; one object a parameter, used by one thread at a time.
/// Magnitudes are compared as numbers; infinity is larger than all finite ones, NaN larger still, all NaN alike, so
/// that what is not finite is sent rather than lost. What is chosen depends on the values and the state alone, not on
/// threads or instruction sets. Uses OpenMP's threads of the calling thread for large vectors.
template <class T>
class Selector {
 public:
  /// `algorithm`: a name from describe_algorithms(), family "selection", as "exact" or with its number,
  /// "exact-per-bucket(256)". Throws ArgumentError for names that are not known and numbers out of range.
  explicit Selector(const std::string& algorithm = "exact", SelectionState state = {});
  Selector(Selector&&) noexcept;
  Selector& operator=(Selector&&) noexcept;
  ~Selector();

  /// Writes what it chooses of `values` (1 to 2^32 elements) to `chosen`, unchanged, and where it stood to `indices`,
  /// rising. Both belong to the caller, have room for the same number, at least k, and must not overlap `values`.
  /// `exact`, alone or per bucket, chooses k; the others as many as they find, at most the room (see each): with room
  /// for 2 k + 100 it hardly ever matters. k may be 0, which chooses nothing, but no more than values.size(). Throws
  /// ArgumentError naming the argument; std::bad_alloc where memory that grows with values / 32, k and the threads is
  /// not there, and then the state is what it was. The cost of each is stated in its file.
  Selection select(std::span<const T> values, std::size_t k, std::span<std::uint32_t> indices, std::span<T> chosen);

  /// After the last call.
  const SelectionState& state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dsop
