// The lines of a file that begin in a range of its bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "launch/readable_file.hpp"

namespace dsop::learn {

/// Opens a file for read_byte_range(). Throws Error naming it if that fails.
using OpenFile = std::function<std::unique_ptr<launch::ReadableFile>(const std::filesystem::path& path)>;
/// One that is read with plain reads at their place.
std::unique_ptr<launch::ReadableFile> open_plain(const std::filesystem::path& path);

/// Those of part `part` of `parts`.
struct ByteRange {
  std::string lines = {};      ///< whole, with their ends, which the file's last may lack; none may begin in the part
  std::size_t first_byte = 0;  ///< of `lines` in the file
  bool carriage_returns = false;  ///< whether the file's first line ends in "\r\n"
};

/// Throws Error naming the file, by its `path`, if it can't be read, is empty or is gzip'd.
ByteRange read_byte_range(const launch::ReadableFile& file, const std::filesystem::path& path, int part, int parts);

/// The number, from 1, of the line in which byte `byte` of the file lies. Cost: reads all before it.
std::size_t line_of_byte(const launch::ReadableFile& file, std::size_t byte);

}  // namespace dsop::learn
