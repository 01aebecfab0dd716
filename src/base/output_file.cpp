#include "base/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <dsop/errors.hpp>

namespace dsop {
namespace {

namespace fs = std::filesystem;

// Where a link leads, also if nothing is there yet.
std::string behind_links(fs::path path) {
  constexpr int most_links = 40;  // Linux follows no more
  for (int links = 0; links < most_links && fs::is_symlink(path); ++links)
    path = path.parent_path() / fs::read_symlink(path);
  return path;
}

bool is_on_disk(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool synced = fsync(file) == 0;
  return close(file) == 0 && synced;
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(behind_links(path)), unfinished_(path_ + ".unfinished") {
  if (fs::exists(path_) && !fs::is_regular_file(path_))
    throw Error(path + ": is no regular file, expected one, or a name that is free");
  stream_.open(unfinished_, std::ios::binary);
  if (!stream_) fail_to_write();
}

OutputFile::~OutputFile() {
  if (!stream_.is_open()) return;  // finished
  std::error_code not_there;
  fs::remove(unfinished_, not_there);
}

void OutputFile::finish() {
  if (!stream_.flush() || !is_on_disk(unfinished_)) fail_to_write();
  std::error_code error;
  fs::rename(unfinished_, path_, error);
  if (error) throw Error(path_ + ": can't be written: " + error.message());
  stream_.close();
}

void OutputFile::fail_to_write() const {
  throw Error(unfinished_ + ": can't be written: " + std::strerror(errno));
}

}  // namespace dsop
