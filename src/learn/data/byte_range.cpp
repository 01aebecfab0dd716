#include "learn/data/byte_range.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "learn/data/input_file.hpp"
#include "patterns/blocks.hpp"

namespace dsop::learn {
namespace {

constexpr std::size_t chunk_bytes = 1U << 16;

class PlainFile {
 public:
  explicit PlainFile(const std::filesystem::path& path) : path_(path), file_(open(path.c_str(), O_RDONLY)) {
    if (file_ < 0) fail(path, std::string("can't be opened: ") + std::strerror(errno));
  }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile() { close(file_); }

  std::size_t bytes() const {
    struct stat status {};
    if (fstat(file_, &status) != 0) cannot_be_read();
    return static_cast<std::size_t>(status.st_size);
  }

  /// Up to `count` bytes from `first` on; fewer only at the file's end.
  std::string read(std::size_t first, std::size_t count) const {
    std::string text(count, '\0');
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = pread(file_, text.data() + done, count - done, static_cast<off_t>(first + done));
      if (got < 0) cannot_be_read();
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return text;
  }

  /// The first byte after the line end that is at `from` or behind it, or the file's end.
  std::size_t after_line_end(std::size_t from) const {
    for (;;) {
      const std::string chunk = read(from, chunk_bytes);
      const std::size_t end = chunk.find('\n');
      if (end != std::string::npos) return from + end + 1;
      from += chunk.size();
      if (chunk.size() < chunk_bytes) return from;
    }
  }

 private:
  [[noreturn]] void cannot_be_read() const { fail(path_, std::string("can't be read: ") + std::strerror(errno)); }

  std::filesystem::path path_;
  int file_;
};

}  // namespace

ByteRange read_byte_range(const std::filesystem::path& path, int part, int parts) {
  const PlainFile file(path);
  if (file.read(0, 2) == "\x1f\x8b") fail(path, "is gzip'd, expected plain text: ranks read parts of it");
  const std::size_t bytes = file.bytes();
  if (bytes == 0) fail(path, "is empty, expected samples");
  if (file.read(bytes - 1, 1) != "\n")
    fail_at(path, line_of_byte(path, bytes - 1), "ends without a line end, expected one: was the file cut off?");

  // A line begins at byte 0 and behind every line end.
  const patterns::Blocks blocks(bytes, parts);
  const auto first_line_from = [&](std::size_t byte) { return byte == 0 ? 0 : file.after_line_end(byte - 1); };
  const std::size_t first = first_line_from(blocks.offset(part));
  const std::size_t last = first_line_from(blocks.offset(part + 1));
  ByteRange range{file.read(first, last - first), first};
  if (range.lines.size() != last - first) fail(path, "was cut off while it was read");
  const std::size_t second_line = file.after_line_end(0);
  range.carriage_returns = second_line > 1 && file.read(second_line - 2, 1) == "\r";
  return range;
}

std::size_t line_of_byte(const std::filesystem::path& path, std::size_t byte) {
  const PlainFile file(path);
  std::size_t line = 1;
  for (std::size_t from = 0; from < byte; from += chunk_bytes) {
    const std::string chunk = file.read(from, std::min(chunk_bytes, byte - from));
    line += static_cast<std::size_t>(std::count(chunk.begin(), chunk.end(), '\n'));
  }
  return line;
}

}  // namespace dsop::learn
