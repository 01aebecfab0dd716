// How many of a text's chunks were found: the measure of the CoNLL-2000 shared task, as its conlleval counts.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dsop::learn {

/// Words first .. last - 1 that belong together, and as what.
struct Chunk {
  std::size_t first = 0;
  std::size_t last = 0;
  std::string type = {};

  bool operator==(const Chunk&) const = default;
};

/// The chunks that tags "O", "B-type" and "I-type" mean: one begins at each B-, and at an I- that does not go on with
/// its type.
std::vector<Chunk> chunks_of(std::span<const std::string> tags);

struct ChunkCounts {
  std::size_t true_ones = 0;
  std::size_t found = 0;
  std::size_t correct = 0;  ///< found with the same words and type

  /// Counts one sentence.
  void add(std::span<const std::string> true_tags, std::span<const std::string> found_tags);
};

/// The harmonic mean of correct / found and correct / true_ones; 0 where nothing is correct.
double f1(double true_ones, double found, double correct);

}  // namespace dsop::learn
