// Texts as sparse vectors: hashed character trigrams (Shi et al., "Hash Kernels for Structured Data", JMLR 2009).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dsop::learn {

struct Feature {
  std::uint32_t index = 0;  ///< from 0
  float value = 0;
};

/// The trigrams of a text with one mark before and one after it, so that a text of one character has one, each hashed
/// to one of 2^bits features (1 <= bits <= 32): their numbers divided by the vector's length, so that it becomes 1;
/// indices rise. A function of the text and `bits` alone, on every machine.
std::vector<Feature> hashed_trigrams(std::u32string_view text, int bits);

}  // namespace dsop::learn
