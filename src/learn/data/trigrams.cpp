#include "learn/data/trigrams.hpp"

#include <cmath>
#include <map>
#include <string>

#include "base/mix.hpp"

namespace dsop::learn {

std::vector<Feature> hashed_trigrams(std::u32string_view text, int bits) {
  constexpr char32_t start_of_text = 2;
  constexpr char32_t end_of_text = 3;
  const std::u32string marked = start_of_text + std::u32string(text) + end_of_text;
  std::map<std::uint32_t, double> counts;
  for (std::size_t i = 0; i + 3 <= marked.size(); ++i) {
    std::uint64_t trigram = 0;  // a character has at most 21 bits
    for (const char32_t character : marked.substr(i, 3)) trigram = trigram << 21U | character;
    ++counts[static_cast<std::uint32_t>(mix(trigram) >> (64 - bits))];
  }

  double squares = 0;
  for (const auto& [index, count] : counts) squares += count * count;
  std::vector<Feature> features;
  for (const auto& [index, count] : counts) features.push_back({index, static_cast<float>(count / std::sqrt(squares))});
  return features;
}

}  // namespace dsop::learn
