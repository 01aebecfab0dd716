// Files that a test writes, and the errors that reading them gives.
#pragma once

#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <dsop/errors.hpp>

namespace dsop::learn {

/// Lasts as long as the test case.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "dsop_data_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error("can't make the folder " + name);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  std::filesystem::path write_gzipped(const std::string& name, const std::string& bytes) const {
    const gzFile file = gzopen((path_ / name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// Expects an Error that names the file and says each of `words`.
template <class Read>
void expect_error(Read read, const std::filesystem::path& file, const std::vector<std::string>& words) {
  std::string message;
  try {
    read();
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK_THAT(message, Catch::Matchers::Contains(file.string()));
  for (const std::string& word : words) CHECK_THAT(message, Catch::Matchers::Contains(word));
}

}  // namespace dsop::learn
