// A store in a file: what is set is appended, and the last value of a key holds. A record is how long key
// and value are, both of them, and a line's end, which one that is still being written has not yet. Whoever opens it
// adds an empty record.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include <dsop/errors.hpp>
#include <dsop/tcp.hpp>

#include "transport/interrupt.hpp"
#include "transport/tcp_meeting.hpp"

namespace dsop {
namespace {

using Clock = Meeting::Clock;
constexpr std::chrono::milliseconds between_looks{5};
const std::string empty_record = "dsop 0 0 \n";

std::string record(const std::string& key, const std::string& value) {
  return "dsop " + std::to_string(key.size()) + ' ' + std::to_string(value.size()) + ' ' + key + value + '\n';
}

// False at the file's end.
bool read_record(std::istream& file, std::string& key, std::string& value) {
  constexpr std::size_t most_bytes = 1 << 28;  // a longer one is none that was written here
  std::string mark;
  std::size_t key_bytes = 0;
  std::size_t value_bytes = 0;
  if (!(file >> mark >> key_bytes >> value_bytes) || mark != "dsop" || key_bytes > most_bytes ||
      value_bytes > most_bytes)
    return false;
  file.get();
  key.resize(key_bytes);
  value.resize(value_bytes);
  file.read(key.data(), static_cast<std::streamsize>(key_bytes));
  file.read(value.data(), static_cast<std::streamsize>(value_bytes));
  return file.get() == '\n';
}

class FileStore {
 public:
  explicit FileStore(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code ignored;
    const std::filesystem::file_status found = std::filesystem::status(path_, ignored);
    if (is_directory(found)) throw ArgumentError("store " + path_.string() + " is a folder, expected a file");
    if (exists(found) && !is_regular_file(found))
      throw ArgumentError("store " + path_.string() + " is a device, a pipe or a socket, expected a file");
    std::string first = empty_record;
    std::getline(std::ifstream(path_), first);
    if (!empty_record.starts_with(first)) throw ArgumentError("store " + path_.string() + " is a file of another kind");
    if (const std::string why = append(empty_record); !why.empty())
      throw ArgumentError("store " + path_.string() + " can't be written: " + why);
  }

  void set(const std::string& key, const std::string& value) {
    if (const std::string why = append(record(key, value)); !why.empty())
      throw Error(path_.string() + " can't be written: " + why);
  }

  std::string get(const std::string& key) {
    if (!has(key)) throw Error(path_.string() + " has no key " + key);
    return values_[key];
  }

  bool wait(const std::string& key, double seconds) {
    const Clock::time_point deadline = in_seconds(seconds);
    while (!has(key)) {
      if (Clock::now() >= deadline) return false;
      std::this_thread::sleep_for(between_looks);
    }
    return true;
  }

 private:
  // Why it could not, or "". One write under a lock: ranks on several hosts may share the file over a network.
  std::string append(const std::string& bytes) const {
    const Clock::time_point deadline = std::min(meeting_deadline, in_seconds(30));
    const int file = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return std::strerror(errno);
    const std::unique_ptr<const int, void (*)(const int*)> closed(&file, [](const int* it) { close(*it); });
    struct stat now {};
    if (fstat(file, &now) != 0) return std::strerror(errno);
    if (now.st_uid != geteuid())
      return "user " + std::to_string(now.st_uid) + " owns it, expected " + std::to_string(geteuid()) +
             ": who reads the store can join";
    if ((now.st_mode & 0077) != 0 && fchmod(file, 0600) != 0) return std::strerror(errno);
    while (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      if (Clock::now() >= deadline) return "another process keeps it locked";
      check_interrupt();
      std::this_thread::sleep_for(between_looks);
    }
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0) return std::strerror(errno);
    return static_cast<std::size_t>(written) < bytes.size() ? std::strerror(ENOSPC) : "";
  }

  // Reads what was appended since it last looked.
  bool has(const std::string& key) {
    struct stat now {};
    std::ifstream file(path_, std::ios::binary);
    if (!file || stat(path_.c_str(), &now) != 0) throw Error(path_.string() + " can't be read");
    if (now.st_ino != inode_ || now.st_size < end_) values_.clear(), end_ = 0;
    inode_ = now.st_ino;
    file.seekg(end_);
    for (std::string found, text; read_record(file, found, text); end_ = file.tellg()) values_[found] = text;
    return values_.contains(key);
  }

  std::filesystem::path path_;
  std::map<std::string, std::string> values_;
  ino_t inode_ = 0;
  std::streamoff end_ = 0;  // of what was read
};

}  // namespace

Store file_store(const std::filesystem::path& path) {
  const auto file = std::make_shared<FileStore>(path);
  return {.set = [file](const std::string& key, const std::string& value) { file->set(key, value); },
          .get = [file](const std::string& key) { return file->get(key); },
          .wait = [file](const std::string& key, double seconds) { return file->wait(key, seconds); }};
}

}  // namespace dsop
