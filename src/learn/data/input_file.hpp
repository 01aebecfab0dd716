// Bytes from a file, and how readers say what is wrong with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dsop/errors.hpp>

#include "base/shown.hpp"

struct z_stream_s;

namespace dsop::learn {

/// Throws Error: "PATH: WHAT".
[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what);

/// Throws Error: "PATH, line LINE: WHAT"; lines are counted from 1.
[[noreturn]] void fail_at(const std::filesystem::path& path, std::size_t line, const std::string& what);

/// How many ranks of this host read files at once.
inline std::atomic<std::size_t> readers_on_host = 1;
/// How large a file may be, unpacked, that is read whole: a third of a reader's share of this host's memory, since
/// memory grows while the file is read. A few packed bytes may ask for more than any host has.
std::size_t room_bytes();
/// Throws Error naming the file if `found` bytes of it are more.
void check_room(const std::filesystem::path& path, std::size_t found, std::size_t room);

/// A file that is unpacked while it is read if it is gzip'd. As gzip(1) has it, gzip'd data may be several members one
/// after the other, and zeros may follow them; anything else behind them is damage, where gzip(1) only warns.
class InputFile {
 public:
  /// Throws Error naming the file if it can't be opened; so do all calls where it can't be read or is damaged.
  explicit InputFile(const std::filesystem::path& path);

  /// Reads until `bytes` is full or the file ends; returns how many bytes it has read.
  std::size_t read(std::span<std::uint8_t> bytes);
  /// All that is left, of which check_room() must have room. Memory: at most three times that, or 64 KB.
  std::string read_rest(std::size_t room = room_bytes());
  /// Whether the file has ended in the middle of gzip'd data, as far as read() has looked.
  bool ends_early() const { return ends_early_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  struct End {
    void operator()(z_stream_s* unpacking) const;
  };

  std::span<std::uint8_t> next(std::size_t least);
  bool member_begins();
  std::size_t copy(std::span<std::uint8_t> bytes);
  std::size_t unpack(std::span<std::uint8_t> bytes);
  void end_member();

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<std::uint8_t> buffer_;
  std::span<std::uint8_t> next_ = {};           ///< of the buffer: what has been read of the file, but not taken yet
  std::unique_ptr<z_stream_s, End> unpacking_;  ///< none if the file is plain
  bool has_ended_ = false;                      ///< the last member
  bool ends_early_ = false;
};

}  // namespace dsop::learn
