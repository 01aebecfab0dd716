// A store in a file: what is set is appended, and the last value of a key holds. A record is how long key
// and value are, both of them, and a line's end, which one that is still being written has not yet. Whoever opens it
// adds an empty record.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include <dsop/errors.hpp>
#include <dsop/gloo.hpp>

namespace dsop {
namespace {

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
  if (!(file >> mark >> key_bytes >> value_bytes) || mark != "dsop" || key_bytes + value_bytes > most_bytes)
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
    if (const int error = append(empty_record); error != 0)
      throw ArgumentError("store " + path_.string() + " can't be written: " + std::strerror(error));
  }

  void set(const std::string& key, const std::string& value) const {
    if (const int error = append(record(key, value)); error != 0)
      throw Error(path_.string() + " can't be written: " + std::strerror(error));
  }

  std::string get(const std::string& key) const {
    std::optional<std::string> value = find(key);
    if (!value) throw Error(path_.string() + " has no such key");
    return std::move(*value);
  }

  bool wait(const std::string& key, double seconds) const {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds between_looks{5};
    const Clock::time_point deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    while (!find(key)) {
      if (Clock::now() >= deadline) return false;
      std::this_thread::sleep_for(between_looks);
    }
    return true;
  }

 private:
  // Returns errno's value, or 0. One write under a lock: ranks on several hosts may share the file over a network.
  int append(const std::string& bytes) const {
    const int file = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return errno;
    flock(file, LOCK_EX);
    const ssize_t written = write(file, bytes.data(), bytes.size());
    const int error = written < 0 ? errno : static_cast<std::size_t>(written) < bytes.size() ? ENOSPC : 0;
    close(file);
    return error;
  }

  std::optional<std::string> find(const std::string& key) const {
    std::ifstream file(path_, std::ios::binary);
    if (!file) throw Error(path_.string() + " can't be read");
    std::optional<std::string> value;
    for (std::string found, text; read_record(file, found, text);)
      if (found == key) value = text;
    return value;
  }

  std::filesystem::path path_;
};

}  // namespace

Store file_store(const std::filesystem::path& path) {
  const auto file = std::make_shared<const FileStore>(path);
  return {.set = [file](const std::string& key, const std::string& value) { file->set(key, value); },
          .get = [file](const std::string& key) { return file->get(key); },
          .wait = [file](const std::string& key, double seconds) { return file->wait(key, seconds); }};
}

}  // namespace dsop
