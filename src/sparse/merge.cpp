#include "sparse/merge.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

namespace dsop::sparse {
namespace {

// Places in left and right between which no index of one part meets one of another, and in their sum, where a part has
// room for all pairs of both.
struct Lane {
  std::size_t l, l_end;
  std::size_t r, r_end;
  std::size_t begin, end;  ///< what has been made

  std::size_t sure_steps() const { return std::min(l_end - l, r_end - r); }
};

// A step waits for the last one of its lane, which says where to read, but not for those of others. At uniform indices
// three lanes take 1.7 ns a pair, one 4.0, the plain loop with its branches 4.1 (f32, AVX-512, one core of two).
constexpr std::size_t lanes = 3;

// `value`, or what added leaves everything as it is, also -0.
template <class T>
T if_taken(T value, bool taken) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits all = Bits{0} - static_cast<Bits>(taken);
  return std::bit_cast<T>((std::bit_cast<Bits>(value) & all) | (std::bit_cast<Bits>(T{-0.0}) & ~all));
}

template <class T>
class Merge {
 public:
  // The result's values stand first in memory, the indices behind room for all values.
  Merge(const Stream<T>& left, const Stream<T>& right, std::span<T> memory)
      : dimension_(left.dimension),
        right_count_(right.indices.size()),
        left_indices_(left.indices.data()),
        right_indices_(right.indices.data()),
        left_values_(left.values.data()),
        right_values_(right.values.data()),
        values_(memory.data()),
        indices_(reinterpret_cast<Index*>(values_ + left.indices.size() + right.indices.size())) {}

  /// Where in right, from r on, what lies before left's element l ends.
  std::size_t place_in_right(std::size_t r, std::size_t l) const {
    const Index* const end = right_indices_ + right_count_;
    return static_cast<std::size_t>(std::lower_bound(right_indices_ + r, end, left_indices_[l]) - right_indices_);
  }
  // Without a branch, as it is chance which of the two comes next.
  [[gnu::always_inline]] void step(Lane& lane) const {
    const Index from_left = left_indices_[lane.l];
    const Index from_right = right_indices_[lane.r];
    const bool take_left = from_left <= from_right;
    const bool take_right = from_right <= from_left;
    indices_[lane.end] = std::min(from_left, from_right);
    values_[lane.end] = if_taken(left_values_[lane.l], take_left) + if_taken(right_values_[lane.r], take_right);
    lane.l += take_left;
    lane.r += take_right;
    ++lane.end;
  }
  void finish(Lane& lane) const {
    for (std::size_t steps = lane.sure_steps(); steps > 0; steps = lane.sure_steps())
      for (; steps > 0; --steps) step(lane);
    const auto append = [&](const Index* indices, const T* values, std::size_t first, std::size_t last) {
      std::copy(indices + first, indices + last, indices_ + lane.end);
      std::copy(values + first, values + last, values_ + lane.end);
      lane.end += last - first;
    };
    append(left_indices_, left_values_, lane.l, lane.l_end);
    append(right_indices_, right_values_, lane.r, lane.r_end);
  }
  /// Closes the gap that pairs of equal index have left before the lane, up to `count`; what then is there.
  std::size_t move_down(const Lane& lane, std::size_t count) const {
    if (lane.begin != count) {
      std::copy(indices_ + lane.begin, indices_ + lane.end, indices_ + count);
      std::copy(values_ + lane.begin, values_ + lane.end, values_ + count);
    }
    return count + lane.end - lane.begin;
  }
  Stream<T> result(std::size_t count) const { return {dimension_, {indices_, count}, {values_, count}}; }

 private:
  std::size_t dimension_;
  std::size_t right_count_;
  const Index* left_indices_;
  const Index* right_indices_;
  const T* left_values_;
  const T* right_values_;
  T* values_;
  Index* indices_;
};

}  // namespace

template <class T>
Stream<T> merge(const Stream<T>& left, const Stream<T>& right, std::span<T> memory) {
  Merge<T> merge(left, right, memory);
  std::array<Lane, lanes> at_once;
  std::size_t l = 0;
  std::size_t r = 0;
  for (std::size_t i = 0; i < lanes; ++i) {
    const std::size_t l_end = left.indices.size() * (i + 1) / lanes;
    const std::size_t r_end = l_end == left.indices.size() ? right.indices.size() : merge.place_in_right(r, l_end);
    at_once[i] = {.l = l, .l_end = l_end, .r = r, .r_end = r_end, .begin = l + r, .end = l + r};
    l = l_end;
    r = r_end;
  }
  const auto sure_steps = [&] {
    std::size_t steps = at_once[0].sure_steps();
    for (const Lane& lane : at_once) steps = std::min(steps, lane.sure_steps());
    return steps;
  };
  for (std::size_t steps = sure_steps(); steps > 0; steps = sure_steps()) {
    std::array<Lane, lanes> in_registers = at_once;
    for (; steps > 0; --steps)
      for (Lane& lane : in_registers) merge.step(lane);
    at_once = in_registers;
  }
  std::size_t count = 0;
  for (Lane& lane : at_once) {
    merge.finish(lane);
    count = merge.move_down(lane, count);
  }
  return merge.result(count);
}

template Stream<float> merge(const Stream<float>&, const Stream<float>&, std::span<float>);
template Stream<double> merge(const Stream<double>&, const Stream<double>&, std::span<double>);

}  // namespace dsop::sparse
