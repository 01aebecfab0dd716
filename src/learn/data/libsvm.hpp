// The libsvm format: a sample a line, its label and the elements that are not zero, as index:value, indices from 1
// and rising. SVM-light's files may have a query and comments, which are passed over, and some editors put UTF-8's mark
// in front:
//
//   # two samples
//   -1 3:0.5 17:1
//   1 qid:7 2:1 # found by hand
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <vector>

#include "learn/data/byte_range.hpp"
#include "learn/data/trigrams.hpp"

namespace dsop::learn {

/// Samples one after the other, sample i having the elements row_offsets[i] .. row_offsets[i + 1] - 1.
struct SparseSamples {
  std::vector<float> labels = {};
  std::vector<std::size_t> row_offsets = {0};
  std::vector<std::uint32_t> indices = {};  ///< from 0, rising within a sample
  std::vector<float> values = {};

  std::size_t count() const { return labels.size(); }
};

enum class Labels : unsigned char { numbers, two_classes };

/// The samples whose lines begin in part `part` of `parts` of the file's bytes, so that ranks can read a file together,
/// each a part; all parts have all samples, in the file's order. With two_classes labels must be -1, 0, 1 or 2. Throws
/// Error naming file, line, what was found and what was expected: an index of 0, above 2^32 or not above the one
/// before, numbers that are malformed, not finite or too large for f32 (too small ones are 0 or next to it, and no
/// class), other labels, empty lines but one at the end, mixed line ends, a file that is empty or gzip'd (which can't
/// be read in parts). The last line need have no end. Memory: about three times the part's bytes.
SparseSamples read_libsvm(const std::filesystem::path& path, int part, int parts, Labels labels,
                          const OpenFile& open = open_plain);

/// Writes one line; values in as few digits as give them back.
void write_libsvm(std::ostream& out, int label, std::span<const Feature> features);

}  // namespace dsop::learn
