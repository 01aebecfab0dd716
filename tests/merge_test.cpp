#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "inputs.hpp"
#include "kernels/join_equal.hpp"
#include "sparse/merge.hpp"
#include "sparse/merge_steps.hpp"

using namespace dsop;
using sparse::Index;

namespace {

template <class T>
struct Pairs {
  std::vector<Index> indices;
  std::vector<T> values;

  void add(Index index, T value) {
    indices.push_back(index);
    values.push_back(value);
  }
  SparseVectorView<T> view() const { return {sparse::most_elements, indices, values}; }
};

/// Values whose sums round, both zeros, infinity and NaN among them.
template <class T>
Pairs<T> at(const std::vector<Index>& indices, std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  const T special[]{T{0}, T{-0.0}, Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min()};
  Pairs<T> pairs;
  for (const Index index : indices) {
    const std::uint64_t bits = bench::mix(seed ^ bench::mix(index));
    pairs.add(index, bits % 8 < std::size(special) ? special[bits % 8] : T(bits % 1000 + 1) / 7);
  }
  return pairs;
}

template <class T>
Pairs<T> expected_sum(const Pairs<T>& left, const Pairs<T>& right) {
  Pairs<T> sum;
  std::size_t r = 0;
  const auto add_right = [&](std::size_t end) {
    for (; r < end; ++r) sum.add(right.indices[r], right.values[r]);
  };
  for (std::size_t l = 0; l < left.indices.size(); ++l) {
    const Index index = left.indices[l];
    const auto found = std::lower_bound(right.indices.begin(), right.indices.end(), index);
    add_right(static_cast<std::size_t>(found - right.indices.begin()));
    const bool both = found != right.indices.end() && *found == index;
    sum.add(index, both ? left.values[l] + right.values[r++] : left.values[l]);
  }
  add_right(right.indices.size());
  return sum;
}

template <class T>
bool same_bits(std::span<const T> a, const std::vector<T>& b) {
  return a.size() == b.size() && (b.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// Also that nothing is written behind the room that all pairs need.
template <class T>
void check_merge(const std::vector<Index>& left_indices, const std::vector<Index>& right_indices) {
  const Pairs<T> left = at<T>(left_indices, 5);
  const Pairs<T> right = at<T>(right_indices, 6);
  const std::size_t pairs = left_indices.size() + right_indices.size();
  const std::size_t room = (pairs * (sizeof(T) + sizeof(Index)) + sizeof(T) - 1) / sizeof(T);
  constexpr std::size_t behind = 64;
  std::vector<T> memory(room + behind, T{-77});
  const SparseVectorView<T> sum = sparse::merge<T>(left.view(), right.view(), std::span(memory).first(room));
  const Pairs<T> expected = expected_sum(left, right);
  REQUIRE(sum.dimension == sparse::most_elements);
  REQUIRE(same_bits<Index>(sum.indices, expected.indices));
  REQUIRE(same_bits<T>(sum.values, expected.values));
  REQUIRE(std::count(memory.end() - behind, memory.end(), T{-77}) == behind);
}

/// `count` indices, the last of which is `last`, with gaps of 1 to `widest`.
std::vector<Index> rising_to(Index last, std::size_t count, unsigned widest, std::uint64_t seed) {
  std::vector<Index> indices(count);
  for (std::size_t i = count; i > 0; --i) {
    indices[i - 1] = last;
    last -= 1 + static_cast<Index>(bench::mix(seed + i) % widest);
  }
  return indices;
}

constexpr Index largest = std::numeric_limits<Index>::max();
constexpr std::size_t block = sparse::places * sparse::most_steps;

}  // namespace

TEMPLATE_TEST_CASE("two vectors are merged whatever their lengths", "[merge]", float, double) {
  std::vector<std::size_t> lengths{block / 2, 3 * block + 5};
  for (std::size_t length = 0; length <= 100; ++length) lengths.push_back(length);
  for (std::size_t length = block - 3; length <= block + 3; ++length) lengths.push_back(length);
  for (const std::size_t left : lengths)
    for (const std::size_t right : lengths) {
      if (left % 7 != 0 && right % 7 != 0 && left != right) continue;
      INFO(left << " and " << right);
      check_merge<TestType>(rising_to(100000, left, 3, 1), rising_to(100000, right, 3, 2));
    }
}

TEMPLATE_TEST_CASE("two vectors are merged however their indices lie", "[merge]", float, double) {
  for (const std::size_t count : {std::size_t{40}, block, 5 * block + 3}) {
    const auto every_second = [&](Index first) {
      std::vector<Index> indices(count);
      for (std::size_t i = 0; i < count; ++i) indices[i] = first + 2 * static_cast<Index>(i);
      return indices;
    };
    const std::vector<Index> even = every_second(0);
    const std::vector<std::pair<std::string, std::vector<Index>>> others{
        {"all meet", even},
        {"none meets, they take turns", every_second(1)},
        {"all behind", every_second(2 * static_cast<Index>(count))},
        {"the first meets the last", every_second(2 * static_cast<Index>(count) - 2)},
        {"half meet", every_second(static_cast<Index>(count) / 2 * 2)},
        {"few", rising_to(2 * static_cast<Index>(count), 9, 8, 3)},
        {"at the end of what an index can be", rising_to(largest, count, 5, 4)}};
    for (const auto& [name, other] : others) {
      INFO(name << ", " << count);
      check_merge<TestType>(even, other);
      check_merge<TestType>(other, even);
    }
    for (const unsigned widest : {1U, 2U, 30U})
      check_merge<TestType>(rising_to(largest, count, widest, 7), rising_to(largest, count, widest, 8));
  }
}

// Left's last pair of a block, or of a place within it, and right's first behind it.
TEMPLATE_TEST_CASE("pairs of equal index are summed where a block ends between them", "[merge]", float, double) {
  for (std::size_t before = 0; before <= block; ++before) {
    std::vector<Index> left;
    std::vector<Index> right;
    for (std::size_t i = 0; i < before; ++i) (i % 3 == 0 ? left : right).push_back(static_cast<Index>(i));
    for (std::size_t i = before; i < 2 * block; ++i) {
      left.push_back(static_cast<Index>(i));
      right.push_back(static_cast<Index>(i));
    }
    INFO("behind " << before << " others");
    check_merge<TestType>(left, right);
    check_merge<TestType>(right, left);
  }
}

TEMPLATE_TEST_CASE("every instruction set joins the pairs of equal index", "[merge]", float, double) {
  for (std::size_t count = 0; count <= 70; ++count)
    for (const unsigned percent : {0U, 20U, 100U}) {
      std::vector<Index> indices{largest};
      while (indices.size() <= count) {
        const auto index = static_cast<Index>(indices.size());
        indices.push_back(index);
        if (bench::mix(percent + index) % 100 < percent && indices.size() <= count) indices.push_back(index);
      }
      indices.push_back(largest);
      const Pairs<TestType> pairs = at<TestType>(indices, 9);
      const TestType* const values = pairs.values.data() + 1;
      Pairs<TestType> expected;
      for (std::size_t i = 0; i < count; ++i) {
        if (i > 0 && indices[i] == indices[i + 1])
          expected.values.back() += values[i];
        else
          expected.add(indices[i + 1], values[i]);
      }
      for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
        if (set > best_instruction_set()) continue;
        std::vector<Index> to_indices(count + 1, largest);
        std::vector<TestType> to_values(count + 1, TestType{-77});
        const std::size_t joined = kernels::equal_joiner<TestType>(set)(indices.data() + 1, values, count,
                                                                        to_indices.data(), to_values.data());
        INFO(count << " pairs, " << percent << " %, " << name(set));
        REQUIRE(joined == expected.indices.size());
        REQUIRE(same_bits<Index>(std::span(to_indices).first(joined), expected.indices));
        REQUIRE(same_bits<TestType>(std::span(to_values).first(joined), expected.values));
        REQUIRE(to_indices[count] == largest);
        REQUIRE(to_values[count] == TestType{-77});
      }
    }
}
