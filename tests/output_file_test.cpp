// Files that are written whole or not at all.
#include "base/output_file.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "full_disk.hpp"
#include "learn/expect_error.hpp"
#include "learn/temporary_folder.hpp"

using dsop::OutputFile;
using dsop::learn::expect_error;
using dsop::learn::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("output: a file is there when it is finished, and the old one until then") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("file", "old");
  const fs::path unfinished = folder.path() / "file.unfinished";
  {
    OutputFile file(path);
    file.stream() << "new";
    CHECK(fs::exists(unfinished));
  }
  CHECK(text_of(path) == "old");
  CHECK_FALSE(fs::exists(unfinished));
  OutputFile file(path);
  file.stream() << "new";
  CHECK(text_of(path) == "old");
  file.finish();
  CHECK(text_of(path) == "new");
  CHECK_FALSE(fs::exists(unfinished));
}

TEST_CASE("output: a link stays, also where the file that it leads to is not there yet") {
  const TemporaryFolder folder;
  const fs::path link = folder.path() / "link";
  fs::create_directory(folder.path() / "elsewhere");
  fs::create_symlink("elsewhere/file", link);
  for (const std::string text : {"first", "second"}) {
    OutputFile file(link);
    file.stream() << text;
    file.finish();
    CHECK(fs::is_symlink(link));
    CHECK(text_of(folder.path() / "elsewhere" / "file") == text);
  }
}

TEST_CASE("output: what can't be written is told, and the old file stays") {
  const TemporaryFolder folder;
  const fs::path nowhere = folder.path() / "nowhere" / "file";
  expect_error([&] { OutputFile file(nowhere); }, nowhere, {"can't be written", "No such file"});
  expect_error([&] { OutputFile file(folder.path()); }, folder.path(), {"is no regular file"});

  const fs::path path = folder.write("file", "old");
  const std::string error = dsop::tests::error_on_full_disk([&] {
    OutputFile file(path);
    file.stream() << std::string(100000, 'x');
    file.finish();
  });
  CHECK_THAT(error, Catch::Matchers::Contains("file.unfinished: can't be written: File too large"));
  CHECK(text_of(path) == "old");
  CHECK_FALSE(fs::exists(path.string() + ".unfinished"));
}
