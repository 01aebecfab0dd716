// A file that ranks read parts of.
#pragma once

#include <cstddef>
#include <span>

namespace dsop::launch {

/// Any number of ranks and threads may have a file open at once, each its own. Where it can't be read the calls throw
/// Error naming it.
class ReadableFile {
 public:
  ReadableFile() = default;
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  virtual ~ReadableFile() = default;

  virtual std::size_t size_bytes() const = 0;
  /// Fills `bytes` with those from `first` on and returns how many they are: fewer only at the file's end.
  virtual std::size_t read(std::size_t first, std::span<char> bytes) const = 0;
};

}  // namespace dsop::launch
