#include <catch2/catch.hpp>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include <dsop/errors.hpp>

#include "inputs.hpp"
#include "sparse/running_sum.hpp"
#include "sparse/vector.hpp"

using namespace dsop;
using sparse::Index;

namespace {

/// A vector of small whole numbers, about `percent` of them not zero, dense and sparse.
template <class T>
struct Vector {
  std::vector<T> elements;
  std::vector<Index> indices;
  std::vector<T> values;
  SparseVectorView<T> sparse;

  Vector(std::size_t dimension, unsigned percent, std::uint64_t seed) : elements(dimension) {
    for (std::size_t i = 0; i < dimension; ++i)
      if (bench::mix(seed + i) % 100 < percent) elements[i] = static_cast<T>(bench::mix(seed - i) % 9) - T{4};
    const std::size_t count = sparse::count_nonzeros<T>(elements);
    indices.resize(count);
    values.resize(count);
    sparse = sparse::compress<T>(elements, indices.data(), values.data());
  }
  SparseVectorView<T> dense() const { return {elements.size(), {}, elements}; }
};

template <class T>
std::vector<T> elements_of(const SparseVectorView<T>& x) {
  std::vector<T> elements(x.dimension, T{-77});
  sparse::expand<T>(x, elements);
  return elements;
}

template <class T>
bool well_formed(const SparseVectorView<T>& x) {
  if (x.dense()) return true;
  for (std::size_t e = 0; e < x.indices.size(); ++e)
    if (x.indices[e] >= x.dimension || (e > 0 && x.indices[e] <= x.indices[e - 1])) return false;
  return x.indices.size() == x.values.size();
}

}  // namespace

TEMPLATE_TEST_CASE("a vector survives compression, and its sparse form has only what is not zero", "[vector]", float,
                   double) {
  for (const std::size_t dimension : {0UL, 1UL, 7UL, 100UL})
    for (const unsigned percent : {0U, 1U, 30U, 100U}) {
      const Vector<TestType> x(dimension, percent, 3);
      CHECK(elements_of(x.sparse) == x.elements);
      CHECK(elements_of(x.dense()) == x.elements);
      CHECK(well_formed(x.sparse));
      for (const TestType value : x.values) CHECK(value != 0);
    }
}

TEST_CASE("NaN is no zero", "[vector]") {
  const std::vector<float> elements{0, std::nanf(""), -0.0F, 1};
  CHECK(sparse::count_nonzeros<float>(elements) == 2);
}

TEMPLATE_TEST_CASE("the sum of two sparse vectors is that of the vectors, whatever their forms", "[vector]", float,
                   double) {
  constexpr std::size_t dimension = 101;
  for (const unsigned left_percent : {0U, 2U, 20U, 60U, 100U})
    for (const unsigned right_percent : {0U, 3U, 20U, 60U, 100U}) {
      const Vector<TestType> left(dimension, left_percent, 11);
      const Vector<TestType> right(dimension, right_percent, 12);
      std::vector<TestType> expected(dimension);
      for (std::size_t i = 0; i < dimension; ++i) expected[i] = left.elements[i] + right.elements[i];
      for (const SparseVectorView<TestType>& l : {left.sparse, left.dense()})
        for (const SparseVectorView<TestType>& r : {right.sparse, right.dense()}) {
          std::vector<TestType> memory(dimension, TestType{-77});
          const SparseVectorView<TestType> sum = sparse::sum<TestType>(l, r, memory);
          INFO(left_percent << " % and " << right_percent << " %");
          CHECK(elements_of(sum) == expected);
          CHECK(well_formed(sum));
          CHECK(sparse::bytes_of(sum) <= dimension * sizeof(TestType));
        }
    }
}

TEMPLATE_TEST_CASE("the sum of many sparse vectors is that of the vectors, whatever their forms", "[vector]", float,
                   double) {
  for (const std::size_t dimension : {0UL, 1UL, 101UL, 20000UL})
    for (const unsigned percent : {0U, 1U, 4U, 100U})
      for (const std::size_t count : {1UL, 2UL, 9UL}) {
        std::vector<Vector<TestType>> vectors;
        std::vector<TestType> expected(dimension);
        for (std::size_t v = 0; v < count; ++v) {
          vectors.emplace_back(dimension, percent, 31 + v);
          for (std::size_t i = 0; i < dimension; ++i) expected[i] += vectors[v].elements[i];
        }
        for (const bool one_dense : {false, true}) {
          std::vector<SparseVectorView<TestType>> summands;
          for (const Vector<TestType>& x : vectors) summands.push_back(x.sparse);
          if (one_dense) summands.back() = vectors.back().dense();
          std::vector<TestType> memory(dimension, TestType{-77});
          const SparseVectorView<TestType> sum = sparse::sum_all<TestType>(summands, memory);
          INFO(count << " of " << dimension << " at " << percent << " %");
          CHECK(elements_of(sum) == expected);
          CHECK(well_formed(sum));
        }
      }
}

TEST_CASE("many vectors are summed in the order in which they stand", "[vector]") {
  const std::vector<Index> index{5};
  const std::vector<float> values[]{{0x1p24F}, {1.0F}, {-0x1p24F}};  // 2^24 + 1 rounds to 2^24
  std::vector<SparseVectorView<float>> summands;
  for (const std::vector<float>& value : values) summands.push_back({100, index, value});
  std::vector<float> memory(100);
  CHECK(sparse::sum_all<float>(summands, memory).values[0] == 0);
}

TEMPLATE_TEST_CASE("a running sum has the same bits and form however many vectors are added at a time", "[vector]",
                   float, double) {
  constexpr std::size_t dimension = 20000;
  constexpr std::size_t count = 7;
  for (const unsigned percent : {0U, 1U, 5U, 12U, 60U})
    for (const std::size_t one_dense : {count, std::size_t{0}, std::size_t{3}}) {
      std::vector<Vector<TestType>> vectors;
      std::vector<TestType> expected(dimension);
      for (std::size_t v = 0; v < count; ++v) {
        vectors.emplace_back(dimension, percent, 31 + v);
        for (TestType& value : vectors[v].values) value = value == 4 ? TestType(-0.0) : std::sin(value);
        sparse::expand<TestType>(vectors[v].sparse, vectors[v].elements);
        for (std::size_t i = 0; i < dimension; ++i) expected[i] += vectors[v].elements[i];
      }
      const auto sum = [&](std::size_t most, std::size_t at_a_time) {
        std::vector<SparseVectorView<TestType>> summands;
        for (const Vector<TestType>& x : vectors) summands.push_back(x.sparse);
        if (one_dense < count) summands[one_dense] = vectors[one_dense].dense();
        std::vector<TestType> memory(dimension, TestType{-77});
        std::vector<TestType> other(dimension, TestType{-77});
        sparse::RunningSum<TestType> running(dimension, most, memory, other);
        for (std::size_t v = 0; v < count; v += at_a_time)
          running.add(std::span(summands).subspan(v, std::min(at_a_time, count - v)));
        INFO(at_a_time << " at a time, " << percent << " %");
        CHECK(well_formed(running.sum()));
        CHECK(running.other().data() != running.sum().values.data());
        if (most == 0) CHECK(running.sum().values.data() == memory.data());
        return std::pair(running.sum().dense(), elements_of(running.sum()));
      };
      const std::size_t most = sparse::most_indices<TestType>(dimension);
      for (const std::size_t limit : {most, std::size_t{0}}) {
        const auto at_once = sum(limit, count);
        CHECK(at_once.second == expected);
        CHECK(at_once.first == (limit == 0 || one_dense < count || percent >= 12));
        for (const std::size_t at_a_time : {1UL, 2UL, 3UL}) {
          const auto by_and_by = sum(limit, at_a_time);
          CHECK(by_and_by.first == at_once.first);
          CHECK(std::memcmp(by_and_by.second.data(), at_once.second.data(), dimension * sizeof(TestType)) == 0);
        }
      }
    }
}

TEMPLATE_TEST_CASE("vectors that lie apart are put together, whatever their forms", "[vector]", float, double) {
  for (const unsigned left_percent : {0U, 2U, 20U, 100U})
    for (const unsigned right_percent : {0U, 3U, 60U, 100U}) {
      const Vector<TestType> left(40, left_percent, 11);
      const Vector<TestType> right(61, right_percent, 12);
      std::vector<TestType> expected(left.elements);
      expected.insert(expected.end(), right.elements.begin(), right.elements.end());
      for (const SparseVectorView<TestType>& l : {left.sparse, left.dense()})
        for (const SparseVectorView<TestType>& r : {right.sparse, right.dense()}) {
          const std::vector<SparseVectorView<TestType>> parts{l, {}, r};
          std::vector<TestType> memory(101, TestType{-77});
          const SparseVectorView<TestType> whole = sparse::concatenate<TestType>(parts, memory);
          INFO(left_percent << " % and " << right_percent << " %");
          CHECK(elements_of(whole) == expected);
          CHECK(well_formed(whole));
          CHECK(sparse::bytes_of(whole) <= 101 * sizeof(TestType));
        }
    }
}

TEST_CASE("a sum for which there is no room, as more has come than was announced, is refused before it is written",
          "[vector]") {
  const Vector<float> left(101, 10, 7);
  const Vector<float> right(101, 10, 8);
  const std::size_t pairs = left.indices.size() + right.indices.size();
  const auto refused = [](std::size_t elements, const auto& make) {
    std::vector<float> memory(200, -77.0F);  // so that what is not refused does no harm
    std::vector<float> other(memory);
    try {
      make(std::span(memory).first(elements), std::span(other).first(elements));
    } catch (const TransportError&) {
      return memory == std::vector<float>(200, -77.0F);
    }
    return false;
  };
  const auto check = [&](std::size_t needs, const auto& make) {
    CHECK(refused(needs - 1, make));
    CHECK_FALSE(refused(needs, make));
  };
  using Memory = std::span<float>;
  const std::vector<SparseVectorView<float>> both{left.sparse, right.sparse};
  check(2 * pairs, [&](Memory memory, Memory) { sparse::sum<float>(both[0], both[1], memory); });
  check(101, [&](Memory memory, Memory) { sparse::sum<float>(both[0], right.dense(), memory); });
  check(2 * pairs, [&](Memory memory, Memory) {
    std::vector<SparseVectorView<float>> summands(both);
    sparse::sum_all<float>(summands, memory);
  });
  check(2 * pairs, [&](Memory memory, Memory) { sparse::concatenate<float>(both, memory); });
  check(2 * left.indices.size(), [&](Memory memory, Memory) { sparse::copy<float>(both[0], memory); });
  for (const bool one_by_one : {false, true})
    check(2 * pairs, [&](Memory memory, Memory other) {
      std::vector<SparseVectorView<float>> summands(both);
      sparse::RunningSum<float> sum(101, 50, one_by_one ? other : memory, one_by_one ? memory : other);
      for (std::size_t v = 0; v < 2; v += one_by_one ? 1 : 2)
        sum.add(std::span(summands).subspan(v, one_by_one ? 1 : 2));
    });
  check(101, [&](Memory memory, Memory) {
    std::vector<SparseVectorView<float>> dense{left.dense()};
    sparse::RunningSum<float>(101, 50, memory, {}).add(dense);
  });
}

TEST_CASE("a copy is the same in either form", "[vector]") {
  const Vector<float> x(101, 20, 7);
  std::vector<float> memory(101);
  CHECK(elements_of(sparse::copy<float>(x.sparse, memory)) == x.elements);
  CHECK(elements_of(sparse::copy<float>(x.dense(), memory)) == x.elements);
}

TEST_CASE("a sum becomes dense where its indices may outweigh the zeros", "[vector]") {
  CHECK(sparse::most_indices<float>(101) == 50);
  CHECK(sparse::most_indices<double>(101) == 67);
  for (const std::size_t count : {25UL, 26UL}) {
    std::vector<Index> indices(count);
    for (std::size_t e = 0; e < count; ++e) indices[e] = static_cast<Index>(e);
    const std::vector<float> values(count, 1.0F);
    std::vector<float> memory(101);
    const SparseVectorView<float> x{101, indices, values};
    CHECK(sparse::sum<float>(x, x, memory).dense() == (count == 26));
    CHECK(sparse::sum<float>(x, x, memory, 49).dense());
  }
}

TEMPLATE_TEST_CASE("adding a vector gives the same bits in either form", "[vector]", float, double) {
  constexpr std::size_t dimension = 203;
  Vector<TestType> x(dimension, 30, 5);
  for (TestType& element : x.elements) element *= TestType(0.1);
  for (TestType& value : x.values) value *= TestType(0.1);
  std::vector<TestType> from_sparse(dimension, TestType(1) / 3);
  std::vector<TestType> from_dense(from_sparse);
  sparse::add_scaled<TestType>(from_sparse, TestType(0.7), x.sparse);
  sparse::add_scaled<TestType>(from_dense, TestType(0.7), x.dense());
  CHECK(from_sparse == from_dense);
}
