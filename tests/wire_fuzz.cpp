// Feeds the decoder of sparse vectors messages that were changed: each must be refused with a TransportError, or be a
// vector of the region that was expected. Under the sanitizers it also sees what would read or write outside.
//
//   wire-fuzz [MESSAGES [SEED]]    the same messages for the same numbers
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <dsop/errors.hpp>

#include "base/mix.hpp"
#include "sparse/wire.hpp"

using namespace dsop;
using sparse::Index;
using sparse::Region;

namespace {

using Words = std::vector<std::uint64_t>;  // aligned as messages are, and of exactly their length

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  std::uint64_t next() { return state_ = mix(state_); }

 private:
  std::uint64_t state_;
};

// Of up to 200 elements, of every density.
template <class T>
Words some_message(Random& random, Region& region, Wire wire) {
  const std::size_t dimension = random.below(200);
  const std::uint64_t percent = random.below(101);
  std::vector<Index> indices;
  std::vector<T> values;
  for (std::size_t i = 0; i < dimension; ++i)
    if (random.below(100) < percent) {
      indices.push_back(static_cast<Index>(i));
      values.push_back(static_cast<T>(i));
    }
  const SparseVectorView<T> x{dimension, indices, values};
  region.first = random.below(dimension + 1);
  region.size = random.below(dimension - region.first + 1);
  Words words(sparse::packed_bytes(x, region, wire) / 8);
  sparse::pack(x, region, std::as_writable_bytes(std::span(words)), wire);
  return words;
}

// One change: a bit, a byte, a field or index made some telling number, two words swapped, another length.
void change(Random& random, Words& words) {
  constexpr std::uint64_t telling[] = {0,          1,          2,           31,         0x7fffffff,
                                       0x80000000, 0xffffffff, 0x100000000, 1UL << 62U, UINT64_MAX};
  const std::size_t bytes = words.size() * 8;
  auto* const message = reinterpret_cast<unsigned char*>(words.data());
  const std::uint64_t number = telling[random.below(std::size(telling))];
  const std::uint64_t kind = random.below(6);
  if (kind == 5) return words.resize(random.below(words.size() + 3));
  if (bytes == 0) return;
  if (kind == 0) message[random.below(bytes)] ^= static_cast<unsigned char>(1U << random.below(8));
  if (kind == 1) message[random.below(bytes)] = static_cast<unsigned char>(random.next());
  if (kind == 2) words[random.below(words.size())] = number;
  if (kind == 3) std::memcpy(message + 4 * random.below(bytes / 4), &number, 4);
  if (kind == 4) std::swap(words[random.below(words.size())], words[random.below(words.size())]);
}

// Empty, or what is wrong with a vector that was let through.
template <class T>
std::string complaint(const SparseVectorView<T>& x, Region region) {
  if (x.dimension != region.size) return "it has another dimension";
  for (const T value : x.values) [[maybe_unused]] volatile const T read = value;
  if (x.dense()) return "";
  if (x.indices.size() != x.values.size()) return "it has more values than indices, or fewer";
  for (std::size_t e = 0; e < x.indices.size(); ++e)
    if (x.indices[e] >= region.size || (e > 0 && x.indices[e] <= x.indices[e - 1])) return "its indices make no sense";
  return "";
}

struct Counts {
  std::uint64_t refused = 0;
  std::uint64_t let_through = 0;
};

template <class T>
std::string try_message(Random& random, Wire wire, Counts& counts) {
  Region region;
  Words words = some_message<T>(random, region, wire);
  for (std::uint64_t changes = random.below(4); changes > 0; --changes) change(random, words);
  if (random.below(50) == 0) region.size += random.below(3);
  std::vector<T> memory(region.size);
  std::span<T> widened(memory);
  try {
    const SparseVectorView<T> x = sparse::unpack(std::as_bytes(std::span(words)), region, wire, widened);
    ++counts.let_through;
    return complaint(x, region);
  } catch (const TransportError&) {
    ++counts.refused;
    return "";
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t messages = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  Counts counts;
  for (std::uint64_t m = 0; m < messages; ++m) {
    Random random(mix(seed) + m);
    const std::string error = m % 3 == 0   ? try_message<float>(random, Wire::full, counts)
                              : m % 3 == 1 ? try_message<double>(random, Wire::full, counts)
                                           : try_message<float>(random, Wire::bf16, counts);
    if (error.empty()) continue;
    std::printf("message %llu of seed %llu was let through: %s\n", static_cast<unsigned long long>(m),
                static_cast<unsigned long long>(seed), error.c_str());
    return 1;
  }
  std::printf("%llu messages refused, %llu let through\n", static_cast<unsigned long long>(counts.refused),
              static_cast<unsigned long long>(counts.let_through));
  const bool tells_apart = counts.refused > messages / 4 && counts.let_through > messages / 4;
  return tells_apart ? 0 : 1;
}
