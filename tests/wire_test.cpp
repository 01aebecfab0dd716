// Sparse vectors as they travel: what is packed comes out again, and nothing malformed does.
#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include <dsop/errors.hpp>

#include "inputs.hpp"
#include "sparse/wire.hpp"

using namespace dsop;
using sparse::Index;
using sparse::Region;

namespace {

constexpr Region region{20, 30};
const std::vector<Index> indices{3, 20, 22, 49, 50};
const std::vector<float> values{1, 2, 3, 4, 5};
const SparseVectorView<float> vector{60, indices, values};

using Words = std::vector<std::uint64_t>;  // aligned as messages are

template <class T>
Words packed(const SparseVectorView<T>& x, Region of) {
  Words words(sparse::packed_bytes(x, of) / 8);
  CHECK(sparse::pack(x, of, std::as_writable_bytes(std::span(words))).size() == words.size() * 8);
  return words;
}

// Whole numbers up to 256 are bf16 numbers.
void check_bf16(const SparseVectorView<float>& x, Region r, const std::vector<float>& elements) {
  Words words(sparse::packed_bytes(x, r, Wire::bf16) / 8);
  CHECK(sparse::pack(x, r, std::as_writable_bytes(std::span(words)), Wire::bf16).size() == words.size() * 8);
  CHECK(words.size() * 8 <= 32 + (r.size * 2 + 7) / 8 * 8);
  std::vector<float> memory(r.size, -77);
  std::span<float> widened(memory);
  const auto back = sparse::unpack(std::as_bytes(std::span(words)), r, Wire::bf16, widened);
  CHECK(widened.size() == r.size - back.values.size());
  std::vector<float> expanded(r.size);
  sparse::expand<float>(back, expanded);
  CHECK(std::equal(expanded.begin(), expanded.end(), elements.begin() + static_cast<std::ptrdiff_t>(r.first)));
}

template <class T>
std::string error_of(std::span<const std::byte> bytes, Region of) {
  std::span<T> none;
  try {
    sparse::unpack<T>(bytes, of, Wire::full, none);
  } catch (const TransportError& error) {
    const std::string text = error.what();
    const std::string begins = "a sparse vector that was received is malformed: ";
    return text.starts_with(begins) ? text.substr(begins.size()) : "another beginning: " + text;
  }
  return "";
}

template <class Value>
std::string error_after(std::size_t offset, Value value) {
  Words words = packed(vector, region);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(words));
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return error_of<float>(bytes, region);
}

}  // namespace

TEMPLATE_TEST_CASE("what is packed comes out again, sparse where that is no larger", "[wire]", float, double) {
  constexpr std::size_t dimension = 211;
  for (const unsigned percent : {0U, 1U, 20U, 49U, 70U, 100U}) {
    std::vector<TestType> elements(dimension);
    for (std::size_t i = 0; i < dimension; ++i)
      if (bench::mix(i) % 100 < percent) elements[i] = static_cast<TestType>(i + 1);
    std::vector<Index> all_indices(dimension);
    std::vector<TestType> all_values(dimension);
    const SparseVectorView<TestType> sparse =
        sparse::compress<TestType>(elements, all_indices.data(), all_values.data());
    const SparseVectorView<TestType> dense{dimension, {}, elements};
    for (const Region& r : {Region{0, dimension}, Region{0, 7}, Region{7, 100}, Region{210, 1}, Region{100, 0}})
      for (const SparseVectorView<TestType>& x : {sparse, dense}) {
        if constexpr (std::is_same_v<TestType, float>) check_bf16(x, r, elements);
        INFO(percent << " %, region of " << r.size << " from " << r.first << (x.dense() ? ", dense" : ", sparse"));
        const Words words = packed(x, r);
        CHECK(words.size() * 8 <= 32 + (r.size * sizeof(TestType) + 7) / 8 * 8);
        std::span<TestType> none;
        const SparseVectorView<TestType> back =
            sparse::unpack<TestType>(std::as_bytes(std::span(words)), r, Wire::full, none);
        std::vector<TestType> expanded(r.size);
        sparse::expand<TestType>(back, expanded);
        CHECK(std::equal(expanded.begin(), expanded.end(), elements.begin() + static_cast<std::ptrdiff_t>(r.first)));
      }
  }
}

TEST_CASE("what is malformed is refused, and the error names what is wrong", "[wire]") {
  const Words words = packed(vector, region);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(words));
  REQUIRE(bytes.size() == 56);  // 32, three values, three indices
  CHECK(error_of<float>(bytes, region).empty());
  CHECK(error_of<float>(bytes.first(31), region) == "its length is 31, expected at least the 32 bytes of a header");
  CHECK(error_of<float>(bytes.first(48), region) == "its length is 48, expected 56");
  CHECK(error_of<double>(bytes, region) == "its type (0: f32, 1: f64, 2: bf16) is 0, expected 1");
  CHECK(error_of<float>(bytes, {21, 30}) == "its first element is 20, expected 21");
  CHECK(error_of<float>(bytes, {20, 31}) == "its region's size is 30, expected 31");
  CHECK(error_after(0, 'D') == "its mark is 1886352196, expected 1886352228");
  CHECK(error_after(4, '\2') == "its form is 2, expected 0 (sparse) or 1 (dense)");
  CHECK(error_after(4, '\1') == "the count of values in dense form is 3, expected 30");
  CHECK(error_after(6, '\1') == "what follows the type is 1, expected 0");
  CHECK(error_after(24, std::uint64_t{16}) == "the count of values in sparse form is 16, expected 15");
  CHECK(error_after(24, std::uint64_t{2}) == "its length is 56, expected 48");
  CHECK(error_after(44, Index{2}) == "index 1 of 3 is 2, expected more than the 2 before it");
  CHECK(error_after(44, Index{30}) == "index 0 of 3 is 30, expected less than the region's 30 elements");
  CHECK(error_after(52, Index{1}) == "index 2 of 3 is 1, expected more than the 2 before it");
  CHECK(error_after(52, Index{30}) == "index 2 of 3 is 30, expected less than the region's 30 elements");
}
