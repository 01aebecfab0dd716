#include <catch2/catch.hpp>

#include <cstddef>
#include <initializer_list>
#include <vector>

#include "kernels/add.hpp"

TEMPLATE_TEST_CASE("add may write to either of its inputs", "[add]", float, double) {
  for (const std::size_t length : std::initializer_list<std::size_t>{0, 1, 5, 64, 1001}) {
    std::vector<TestType> left(length), right(length), expected(length), sum(length);
    for (std::size_t i = 0; i < length; ++i) {
      left[i] = static_cast<TestType>(i);
      right[i] = static_cast<TestType>(3 * i + 1);
      expected[i] = static_cast<TestType>(4 * i + 1);
    }
    dsop::kernels::add<TestType>(sum, left, right);
    CHECK(sum == expected);
    auto to_left = left;
    dsop::kernels::add<TestType>(to_left, to_left, right);
    CHECK(to_left == expected);
    dsop::kernels::add<TestType>(right, left, right);
    CHECK(right == expected);
  }
}
