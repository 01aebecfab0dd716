// The IDX format, in which MNIST comes: https://yann.lecun.com/exdb/mnist (at the end of the page). A file is
// 00 00 TT NN (TT: type of the elements, 08 for bytes; NN: number of dimensions), NN sizes as big-endian 32-bit
// numbers, and the elements, last dimension fastest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "learn/data/digits.hpp"
#include "learn/data/input_file.hpp"

namespace dsop::learn {

struct IdxArray {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> values;
};

/// Reads a file of unsigned bytes, gzip'd or plain, that must have `dimensions` dimensions, none of them of size 0.
/// Throws Error naming the file if it can't be read, is not such a file, is shorter or longer than its
/// header says, is damaged (see InputFile) or there is no room for it. Memory: at most 64 KB or three times what the
/// file holds, whatever its header claims.
IdxArray read_idx(const std::filesystem::path& path, std::size_t dimensions, std::size_t room = room_bytes());

/// All names under which read_digits() looks for a file in the folder.
std::vector<std::filesystem::path> digits_files(const std::filesystem::path& folder);

enum class DigitsSet : unsigned char { train, t10k };

/// Reads the MNIST files of a folder: those of `first` (train-images-idx3-ubyte and train-labels-idx1-ubyte) if they
/// are there, else of the other set (t10k-...); each may end in ".gz", or have a dot in place of the dash before "idx".
/// Throws Error, also if there are none, if there is not one label for each image, or if a label is more than 9.
Digits read_digits(const std::filesystem::path& folder, DigitsSet first = DigitsSet::train);

}  // namespace dsop::learn
