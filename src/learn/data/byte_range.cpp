#include "learn/data/byte_range.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "learn/data/input_file.hpp"
#include "patterns/blocks.hpp"

namespace dsop::learn {
namespace {

constexpr std::size_t chunk_bytes = 1U << 16;

class PlainFile final : public launch::ReadableFile {
 public:
  explicit PlainFile(const std::filesystem::path& path) : path_(path), file_(open(path.c_str(), O_RDONLY)) {
    if (file_ < 0) fail(path, std::string("can't be opened: ") + std::strerror(errno));
  }
  ~PlainFile() override { close(file_); }

  std::size_t size_bytes() const override {
    struct stat status {};
    if (fstat(file_, &status) != 0) cannot_be_read();
    return static_cast<std::size_t>(status.st_size);
  }

  std::size_t read(std::size_t first, std::span<char> bytes) const override {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got = pread(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(first + done));
      if (got < 0) cannot_be_read();
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  [[noreturn]] void cannot_be_read() const { fail(path_, std::string("can't be read: ") + std::strerror(errno)); }

  std::filesystem::path path_;
  int file_;
};

/// Up to `count` bytes from `first` on; fewer only at the file's end.
std::string part_of(const launch::ReadableFile& file, std::size_t first, std::size_t count) {
  std::string text(count, '\0');
  text.resize(file.read(first, text));
  return text;
}

/// The first byte after the line end that is at `from` or behind it, or the file's end.
std::size_t after_line_end(const launch::ReadableFile& file, std::size_t from) {
  for (;;) {
    const std::string chunk = part_of(file, from, chunk_bytes);
    const std::size_t end = chunk.find('\n');
    if (end != std::string::npos) return from + end + 1;
    from += chunk.size();
    if (chunk.size() < chunk_bytes) return from;
  }
}

}  // namespace

std::unique_ptr<launch::ReadableFile> open_plain(const std::filesystem::path& path) {
  return std::make_unique<PlainFile>(path);
}

ByteRange read_byte_range(const launch::ReadableFile& file, const std::filesystem::path& path, int part, int parts) {
  if (part_of(file, 0, 2) == "\x1f\x8b") fail(path, "is gzip'd, expected plain text: ranks read parts of it");
  const std::size_t bytes = file.size_bytes();
  if (bytes == 0) fail(path, "is empty, expected samples");

  // A line begins at byte 0 and behind every line end.
  const patterns::Blocks blocks(bytes, parts);
  const auto first_line_from = [&](std::size_t byte) { return byte == 0 ? 0 : after_line_end(file, byte - 1); };
  const std::size_t first = first_line_from(blocks.offset(part));
  const std::size_t last = first_line_from(blocks.offset(part + 1));
  ByteRange range{part_of(file, first, last - first), first};
  if (range.lines.size() != last - first) fail(path, "was cut off while it was read");
  const std::size_t second_line = after_line_end(file, 0);
  range.carriage_returns = second_line > 1 && part_of(file, second_line - 2, 1) == "\r";
  return range;
}

std::size_t line_of_byte(const launch::ReadableFile& file, std::size_t byte) {
  std::size_t line = 1;
  for (std::size_t from = 0; from < byte; from += chunk_bytes) {
    const std::string chunk = part_of(file, from, std::min(chunk_bytes, byte - from));
    line += static_cast<std::size_t>(std::count(chunk.begin(), chunk.end(), '\n'));
  }
  return line;
}

}  // namespace dsop::learn
