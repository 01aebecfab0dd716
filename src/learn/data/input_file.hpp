// Bytes from a file, and how readers say what is wrong with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <dsop/errors.hpp>

struct gzFile_s;

namespace dsop::learn {

/// Throws Error: "PATH: WHAT".
[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what);

/// Throws Error: "PATH, line LINE: WHAT"; lines are counted from 1.
[[noreturn]] void fail_at(const std::filesystem::path& path, std::size_t line, const std::string& what);

/// For messages: the text in quotes, at most 40 bytes of it, what is not printable ASCII as \x00.
std::string in_quotes(std::string_view text);

/// A file that is unpacked while it is read if it is gzip'd.
class InputFile {
 public:
  /// Throws Error naming the file if it can't be opened; so do the other calls where it can't be read or is damaged.
  explicit InputFile(const std::filesystem::path& path);

  /// Reads until `bytes` is full or the file ends; returns how many bytes it has read.
  std::size_t read(std::span<std::uint8_t> bytes);
  /// All that is left. Memory: at most twice that, or 64 KB.
  std::string read_rest();
  /// Whether the file has ended in the middle of gzip'd data, as far as read() has looked.
  bool ends_early() const;

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };

  std::string words_for_error() const;

  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

}  // namespace dsop::learn
