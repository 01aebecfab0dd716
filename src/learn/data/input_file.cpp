#include "learn/data/input_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "launch/available_memory.hpp"

namespace dsop::learn {

void fail(const std::filesystem::path& path, const std::string& what) {
  throw Error(printable(path.string()) + ": " + what);
}

void fail_at(const std::filesystem::path& path, std::size_t line, const std::string& what) {
  throw Error(printable(path.string()) + ", line " + std::to_string(line) + ": " + what);
}

std::size_t room_bytes() {
  const std::size_t available = launch::available_memory_bytes();
  return available > 0 ? available / 3 / readers_on_host : std::numeric_limits<std::size_t>::max();
}

void check_room(const std::filesystem::path& path, std::size_t found, std::size_t room) {
  if (found > room)
    fail(path, "out of memory: it holds more than " + std::to_string(found) + " bytes, and there is room for " +
                   std::to_string(room));
}

InputFile::InputFile(const std::filesystem::path& path)
    : path_(path), file_(std::fopen(path.c_str(), "rb")), buffer_(1U << 16) {
  if (!file_) fail(path, std::string("can't be opened: ") + std::strerror(errno));
  if (!member_begins()) return;
  constexpr int gzip_of_any_window = 15 + 16;
  auto unpacking = std::make_unique<z_stream>();
  if (inflateInit2(unpacking.get(), gzip_of_any_window) != Z_OK) throw std::bad_alloc();
  unpacking_.reset(unpacking.release());
}

void InputFile::Close::operator()(std::FILE* file) const {
  std::fclose(file);
}

void InputFile::End::operator()(z_stream* unpacking) const {
  inflateEnd(unpacking);
  delete unpacking;
}

/// What is next in the file, packed or plain: `least` bytes or more, unless it ends before.
std::span<std::uint8_t> InputFile::next(std::size_t least) {
  if (next_.size() >= least) return next_;
  std::copy(next_.begin(), next_.end(), buffer_.begin());
  const std::size_t kept = next_.size();
  const std::size_t count = std::fread(buffer_.data() + kept, 1, buffer_.size() - kept, file_.get());
  if (std::ferror(file_.get()) != 0) fail(path_, std::string("can't be read: ") + std::strerror(errno));
  return next_ = std::span(buffer_).first(kept + count);
}

bool InputFile::member_begins() {
  const std::span<std::uint8_t> start = next(2);
  return start.size() >= 2 && start[0] == 0x1f && start[1] == 0x8b;
}

std::size_t InputFile::read(std::span<std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::span<std::uint8_t> left = bytes.subspan(done);
    const std::size_t count = unpacking_ ? unpack(left) : copy(left);
    if (count == 0) break;
    done += count;
  }
  return done;
}

std::size_t InputFile::copy(std::span<std::uint8_t> bytes) {
  const std::size_t count = std::min(next(1).size(), bytes.size());
  std::copy_n(next_.begin(), count, bytes.begin());
  next_ = next_.subspan(count);
  return count;
}

/// Bytes that it has written to the front of `bytes`: 0 only at the end.
std::size_t InputFile::unpack(std::span<std::uint8_t> bytes) {
  const auto room = static_cast<unsigned>(std::min<std::size_t>(bytes.size(), 1U << 30));
  unpacking_->next_out = bytes.data();
  unpacking_->avail_out = room;
  while (unpacking_->avail_out == room && !has_ended_ && !ends_early_) {
    const std::span<std::uint8_t> packed = next(1);
    unpacking_->next_in = packed.data();
    unpacking_->avail_in = static_cast<unsigned>(packed.size());
    const int status = inflate(unpacking_.get(), Z_NO_FLUSH);
    next_ = packed.last(unpacking_->avail_in);
    if (status == Z_STREAM_END) {
      end_member();
    } else if (status == Z_BUF_ERROR) {
      ends_early_ = true;
    } else if (status != Z_OK) {
      fail(path_, std::string("damaged: ") + (unpacking_->msg != nullptr ? unpacking_->msg : zError(status)));
    }
  }
  return room - unpacking_->avail_out;
}

void InputFile::end_member() {
  if (member_begins()) {
    inflateReset(unpacking_.get());
    return;
  }
  has_ended_ = true;
  for (; !next(1).empty(); next_ = {})
    if (std::any_of(next_.begin(), next_.end(), [](std::uint8_t byte) { return byte != 0; }))
      fail(path_, "damaged: other bytes than zeros follow the end of its gzip'd data");
}

std::string InputFile::read_rest(std::size_t room) {
  std::string text;
  std::size_t found = 0;
  do {
    check_room(path_, found, room);
    text.resize(std::max<std::size_t>(2 * found, 1U << 16));
    found += read({reinterpret_cast<std::uint8_t*>(text.data()) + found, text.size() - found});
  } while (found == text.size());
  if (ends_early()) fail(path_, "truncated: the gzip'd data ends early");
  text.resize(found);
  return text;
}

}  // namespace dsop::learn
