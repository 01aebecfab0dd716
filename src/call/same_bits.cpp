#include "call/same_bits.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include <dsop/errors.hpp>

#include "base/bits.hpp"
#include "base/digest.hpp"
#include "base/hexadecimal.hpp"
#include "base/rank_list.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop {

template <class T>
std::uint64_t hash_of_bits(MatrixView<const T> G) {
  SequenceDigest hash;
  for (std::size_t i = 0; i < G.rows; ++i)
    for (const T element : std::span(G.row(i), G.columns)) hash.take(std::bit_cast<Bits<T>>(element));
  return hash.value();
}

template <class T>
void check_same_bits(Transport& transport, MatrixView<const T> G) {
  const std::vector<std::uint64_t> hashes = patterns::of_all_ranks(transport, hash_of_bits(G));
  const auto groups =
      ranks_by_value(transport.size(), [&](int r) { return hexadecimal(hashes[static_cast<std::size_t>(r)]); });
  if (groups.size() == 1) return;
  std::string message = "check_bits: the results differ, their hashes are";
  const char* separator = " ";
  for (const auto& [value, ranks] : groups) {
    message.append(separator).append(value).append(" on ").append(list_ranks(ranks));
    separator = ", ";
  }
  throw Error(message);
}

#define INSTANTIATE(T)                                      \
  template std::uint64_t hash_of_bits(MatrixView<const T>); \
  template void check_same_bits<T>(Transport&, MatrixView<const T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
}  // namespace dsop
