#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "inputs.hpp"
#include "kernels/compact.hpp"
#include "kernels/magnitude_sums.hpp"
#include "kernels/ranked_key.hpp"
#include "selection_cases.hpp"

using namespace dsop;
using kernels::Key;
using kernels::KeyRange;

TEMPLATE_TEST_CASE("every instruction set picks what lies in a range", "[compact]", float, double) {
  using T = TestType;
  const auto key = [](double x) { return kernels::key_of(static_cast<T>(x)); };
  for (const std::size_t count : {0UL, 1UL, 7UL, 8UL, 31UL, 100UL, 1023UL, kernels::compact_block})
    for (const auto& [name, values] : tests::selection_inputs<T>(count))
      for (const KeyRange<T> range :
           {KeyRange<T>{}, KeyRange<T>{.low = key(1)}, KeyRange<T>{key(0.5), key(2)}, KeyRange<T>{key(1), key(1)},
            KeyRange<T>{key(0), key(0)}, KeyRange<T>{.low = kernels::infinity_key<T>},
            KeyRange<T>{kernels::infinity_key<T>, kernels::infinity_key<T>}, KeyRange<T>{.low = kernels::nan_key<T>}}) {
        const std::vector<std::uint32_t> expected = tests::indices_where(
            values, [&](T x) { return kernels::key_of(x) >= range.low && kernels::key_of(x) <= range.high; });
        for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
          if (set > best_instruction_set()) continue;
          INFO(name << ", " << count << " values, " << dsop::name(set) << ", keys " << range.low << " to "
                    << range.high);
          constexpr std::uint32_t first = 4294000000;
          kernels::Picked<T> picked;
          REQUIRE(kernels::compactor<T>(set)(values, first, range, picked) == expected.size());
          for (std::size_t e = 0; e < expected.size(); ++e) {
            REQUIRE(picked.indices[e] == first + expected[e]);
            REQUIRE(tests::same_bits(picked.values[e], values[expected[e]]));
          }
        }
      }
}

TEMPLATE_TEST_CASE("keys rise with magnitudes", "[compact]", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const std::vector<TestType> rising{0, Limits::denorm_min(), Limits::min(), 1, 2, Limits::max(), Limits::infinity()};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    CHECK(kernels::key_of(rising[i]) == kernels::key_of(-rising[i]));
    CHECK(kernels::magnitude_of<TestType>(kernels::key_of(rising[i])) == rising[i]);
    CHECK((i == 0 || kernels::key_of(rising[i]) > kernels::key_of(rising[i - 1])));
  }
  for (const TestType nan : {Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::signaling_NaN()})
    CHECK(kernels::key_of(nan) == kernels::key_of(rising.back()) + 1);
  CHECK(std::isnan(kernels::magnitude_of<TestType>(kernels::nan_key<TestType>)));
}

TEMPLATE_TEST_CASE("the key of a rank is that of sorted keys", "[compact]", std::int32_t, std::int64_t) {
  for (const std::size_t count : {1UL, 2UL, 17UL, 500UL})
    for (const std::uint64_t largest : {1UL, 10UL, 0x7fffffffUL}) {
      std::vector<TestType> keys(count);
      for (std::size_t i = 0; i < count; ++i) keys[i] = static_cast<TestType>(bench::mix(i) % largest);
      std::vector<TestType> sorted = keys;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      for (std::size_t rank = 1; rank <= count; ++rank)
        REQUIRE(kernels::ranked_key<TestType>(keys, rank) == sorted[rank - 1]);
    }
}

TEMPLATE_TEST_CASE("sums leave out what is not finite, or not below", "[compact]", float, double) {
  for (const std::size_t count : {0UL, 1UL, 7UL, 8UL, 9UL, 1001UL})
    for (const auto& [name, values] : tests::selection_inputs<TestType>(count)) {
      if (name == "wide" || name == "subnormal" || name == "normal") continue;  // their sums depend on the order
      INFO(name << ", " << count << " values");
      std::vector<TestType> whole = values;
      for (TestType& x : whole) x = std::round(x);
      kernels::Moments expected;
      kernels::Below below;
      for (const TestType x : whole) {
        const double magnitude = std::abs(static_cast<double>(x));
        if (std::isfinite(x)) expected += {1, static_cast<double>(x), magnitude * magnitude};
        if (magnitude < 2) below += {1, magnitude};
      }
      const kernels::Moments moments = kernels::moments<TestType>(whole);
      CHECK(std::vector{moments.count, moments.sum, moments.squares} ==
            std::vector{expected.count, expected.sum, expected.squares});
      const kernels::Below found = kernels::sum_below<TestType>(whole, 2);
      CHECK(std::vector{found.count, found.sum} == std::vector{below.count, below.sum});
      const kernels::Below scaled = kernels::sum_below<TestType>(whole, 0.5, 0.25);
      CHECK(std::vector{scaled.count, 4 * scaled.sum} == std::vector{below.count, below.sum});
    }
}
