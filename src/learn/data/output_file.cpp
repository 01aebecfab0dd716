#include "learn/data/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <dsop/errors.hpp>

#include "learn/data/input_file.hpp"

namespace dsop::learn {
namespace {

bool are_same_file(const std::string& a, const std::string& b) {
  std::error_code not_there;
  if (std::filesystem::equivalent(a, b, not_there)) return true;
  const auto whole = [](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
  };
  return whole(a) == whole(b);
}

bool is_on_disk(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool synced = fsync(file) == 0;
  return close(file) == 0 && synced;
}

}  // namespace

void refuse_same_file(const NamedFile& written, std::initializer_list<NamedFile> others) {
  for (const NamedFile& other : others)
    if (!written.path.empty() && !other.path.empty() && are_same_file(written.path, other.path))
      throw Error(written.name + ' ' + written.path + " is the same file as " + other.name + ' ' + other.path +
                  ", expected another");
}

OutputFile::OutputFile(const std::string& path) : path_(path), unfinished_(path + ".unfinished") {
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
    fail(path, "is no regular file, expected one, or a name that is free");
  stream_.open(unfinished_, std::ios::binary);
  if (!stream_) fail_to_write();
}

OutputFile::~OutputFile() {
  if (!stream_.is_open()) return;  // finished
  std::error_code not_there;
  std::filesystem::remove(unfinished_, not_there);
}

void OutputFile::finish() {
  if (!stream_.flush() || !is_on_disk(unfinished_)) fail_to_write();
  std::error_code error;
  std::filesystem::rename(unfinished_, path_, error);
  if (error) fail(path_, "can't be written: " + error.message());
  stream_.close();
}

void OutputFile::fail_to_write() const {
  fail(unfinished_, std::string("can't be written: ") + std::strerror(errno));
}

}  // namespace dsop::learn
