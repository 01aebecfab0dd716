#include "learn/data/input_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace dsop::learn {

void fail(const std::filesystem::path& path, const std::string& what) {
  throw Error(path.string() + ": " + what);
}

void fail_at(const std::filesystem::path& path, std::size_t line, const std::string& what) {
  throw Error(path.string() + ", line " + std::to_string(line) + ": " + what);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most_bytes = 40;
  std::string words = "\"";
  for (const char c : text.substr(0, most_bytes)) {
    if (c >= ' ' && c <= '~') {
      words += c;
      continue;
    }
    std::array<char, 5> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    words += escaped.data();
  }
  return words + (text.size() > most_bytes ? "\"..." : "\"");
}

InputFile::InputFile(const std::filesystem::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
  if (!file_) fail(path, std::string("can't be opened: ") + std::strerror(errno));
}

void InputFile::Close::operator()(gzFile_s* file) const {
  gzclose_r(file);
}

std::size_t InputFile::read(std::span<std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto most = static_cast<unsigned>(std::min<std::size_t>(bytes.size() - done, 1U << 30));
    const int count = gzread(file_.get(), bytes.data() + done, most);
    if (count < 0) fail(path_, words_for_error());
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::string InputFile::read_rest() {
  std::string text;
  std::size_t found = 0;
  do {
    text.resize(std::max<std::size_t>(2 * found, 1U << 16));
    found += read({reinterpret_cast<std::uint8_t*>(text.data()) + found, text.size() - found});
  } while (found == text.size());
  if (ends_early()) fail(path_, "truncated: the gzip'd data ends early");
  text.resize(found);
  return text;
}

bool InputFile::ends_early() const {
  int error = Z_OK;
  gzerror(file_.get(), &error);
  return error == Z_BUF_ERROR;
}

std::string InputFile::words_for_error() const {
  int error = Z_OK;
  const std::string words = gzerror(file_.get(), &error);
  return error == Z_ERRNO ? std::string("can't be read: ") + std::strerror(errno) : "damaged: " + words;
}

}  // namespace dsop::learn
