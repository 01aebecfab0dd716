#include "learn/tasks/chunks.hpp"

#include <algorithm>

namespace dsop::learn {

std::vector<Chunk> chunks_of(std::span<const std::string> tags) {
  std::vector<Chunk> chunks;
  bool inside = false;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const std::string& tag = tags[i];
    if (tag == "O") {
      inside = false;
      continue;
    }
    const std::string type = tag.substr(2);
    if (inside && tag[0] == 'I' && chunks.back().type == type)
      chunks.back().last = i + 1;
    else
      chunks.push_back({i, i + 1, type});
    inside = true;
  }
  return chunks;
}

void ChunkCounts::add(std::span<const std::string> true_tags, std::span<const std::string> found_tags) {
  const std::vector<Chunk> truth = chunks_of(true_tags);
  const std::vector<Chunk> guess = chunks_of(found_tags);
  true_ones += truth.size();
  found += guess.size();
  correct += static_cast<std::size_t>(std::count_if(guess.begin(), guess.end(), [&](const Chunk& chunk) {
    return std::find(truth.begin(), truth.end(), chunk) != truth.end();
  }));
}

double f1(double true_ones, double found, double correct) {
  return correct == 0 ? 0 : 2 * correct / (true_ones + found);
}

}  // namespace dsop::learn
