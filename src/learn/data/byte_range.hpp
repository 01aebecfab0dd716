// The lines of a file that begin in a range of its bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace dsop::learn {

/// Those of part `part` of `parts`, read with plain reads at their place: any number of processes and threads may read
/// parts of a file at once.
struct ByteRange {
  std::string lines = {};         ///< whole lines with their ends; empty where none begins in the part
  std::size_t first_byte = 0;     ///< of `lines` in the file
  bool carriage_returns = false;  ///< whether the file's first line ends in "\r\n"
};

/// Throws Error naming the file if it can't be read, is empty, is gzip'd or does not end in a line end.
ByteRange read_byte_range(const std::filesystem::path& path, int part, int parts);

/// The number, from 1, of the line in which byte `byte` of the file lies. Cost: reads all before it.
std::size_t line_of_byte(const std::filesystem::path& path, std::size_t byte);

}  // namespace dsop::learn
