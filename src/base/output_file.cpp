#include "base/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>

#include <dsop/errors.hpp>

#include "base/hexadecimal.hpp"
#include "base/shown.hpp"

namespace dsop {
namespace {

constexpr std::string_view ending = ".unfinished";

// Returns the descriptor, or -1 with errno. The new file's name is put into `name`.
int create_beside(const std::string& path, mode_t mode, std::string& name) {
  std::random_device random;
  int file = -1;
  do {
    name = path + '.' + hexadecimal(random()).append(ending);
    file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  } while (file < 0 && errno == EEXIST);
  return file;
}

}  // namespace

std::string behind_links(const std::string& path) {
  constexpr int most_links = 40;  // Linux follows no more
  std::filesystem::path place = path;
  for (int links = 0; links < most_links; ++links) {
    std::error_code no_link;
    const std::filesystem::path target = std::filesystem::read_symlink(place, no_link);
    if (no_link) break;
    place = place.parent_path() / target;
  }
  return place;
}

void remove_unfinished(const std::string& path) {
  const std::filesystem::path written = behind_links(path);
  const std::string begin = written.filename().string() + '.';
  std::error_code error;
  std::filesystem::directory_iterator entries(written.has_parent_path() ? written.parent_path() : ".", error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(ending)) continue;
    const std::string number =
        name.substr(begin.size(), std::max(name.size() - ending.size(), begin.size()) - begin.size());
    const bool is_ours = !number.empty() && number.find_first_not_of("0123456789abcdef") == number.npos;
    std::error_code stays;
    if (is_ours) std::filesystem::remove(entries->path(), stays);
  }
}

OutputFile::OutputFile(const std::string& path) : path_(behind_links(path)), stream_(&bytes_) {
  struct stat old {};
  const bool is_there = stat(path_.c_str(), &old) == 0;
  if (is_there && !S_ISREG(old.st_mode))
    throw Error(printable(path) + ": is no regular file, expected one, or a name that is free");
  const int file = create_beside(path_, is_there ? old.st_mode & 0777 : 0666, unfinished_);
  if (file < 0) fail_to_write();
  if (is_there) fchmod(file, old.st_mode & 0777);  // what the umask has taken away; without it fewer may read the file
  bytes_ = __gnu_cxx::stdio_filebuf<char>(file, std::ios::out | std::ios::binary);
}

OutputFile::~OutputFile() {
  if (bytes_.is_open()) std::remove(unfinished_.c_str());
}

void OutputFile::finish() {
  if (!stream_.flush() || fsync(bytes_.fd()) != 0) fail_to_write();
  if (std::rename(unfinished_.c_str(), path_.c_str()) != 0) fail_to_write();
  bytes_.close();
}

void OutputFile::fail_to_write() const {
  throw Error(printable(path_) + ": can't be written: " + std::strerror(errno));
}

}  // namespace dsop
