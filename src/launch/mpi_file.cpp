#include <mpi.h>

#include <algorithm>
#include <system_error>

#include <dsop/errors.hpp>

#include "launch/mpi_world.hpp"

namespace dsop::launch {
namespace {

// Opened by each rank for itself: one may read what the others do not, and what goes wrong is its own error.
class MpiFile final : public ReadableFile {
 public:
  explicit MpiFile(const std::filesystem::path& path) : path_(path) {
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown)) throw Error(path.string() + ": is a folder, expected a file");
    check(MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file_), "opened");
  }
  ~MpiFile() override { MPI_File_close(&file_); }

  std::size_t size_bytes() const override {
    MPI_Offset bytes = 0;
    check(MPI_File_get_size(file_, &bytes), "read");
    return static_cast<std::size_t>(bytes);
  }

  std::size_t read(std::size_t first, std::span<char> bytes) const override {
    constexpr std::size_t most_bytes = std::size_t{1} << 30;  // counts are ints
    std::size_t done = 0;
    while (done < bytes.size()) {
      const auto most = static_cast<int>(std::min(bytes.size() - done, most_bytes));
      MPI_Status status;
      int count = 0;
      check(
          MPI_File_read_at(file_, static_cast<MPI_Offset>(first + done), bytes.data() + done, most, MPI_BYTE, &status),
          "read");
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

 private:
  /// The words of the error's class: an implementation's own may fill a page.
  void check(int code, const char* what) const {
    if (code == MPI_SUCCESS) return;
    int error_class = code;
    int length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_class(code, &error_class);
    MPI_Error_string(error_class, text, &length);
    throw Error(path_.string() + ": can't be " + what + ": " + text);
  }

  std::filesystem::path path_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

std::unique_ptr<ReadableFile> open_by_mpi(const std::filesystem::path& path) {
  return std::make_unique<MpiFile>(path);
}

}  // namespace dsop::launch
