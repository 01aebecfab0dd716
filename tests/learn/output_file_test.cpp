// Files that are written whole or not at all, and never over one that is read.
#include "learn/data/output_file.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "expect_error.hpp"
#include "full_disk.hpp"
#include "temporary_folder.hpp"

using dsop::learn::expect_error;
using dsop::learn::OutputFile;
using dsop::learn::refuse_same_file;
using dsop::learn::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("output: one file under two names is refused, whether it is there or not") {
  const TemporaryFolder folder;
  const fs::path there = folder.write("there", "1 1:1\n");
  const fs::path absent = folder.path() / "absent";
  fs::create_directory(folder.path() / "deeper");
  fs::create_symlink(there, folder.path() / "link");
  fs::create_hard_link(there, folder.path() / "hard");
  fs::create_directory_symlink(folder.path(), folder.path() / "deeper" / "up");
  for (const fs::path& path : {there, absent})
    for (const fs::path& same :
         {path, folder.path() / "." / path.filename(), folder.path() / "deeper" / ".." / path.filename(),
          folder.path() / "deeper" / "up" / path.filename(), fs::relative(path)}) {
      CAPTURE(path, same);
      expect_error(
          [&] {
            refuse_same_file({"--out", same}, {{"--test", ""}, {"TRAIN", path}});
          },
          same, {"--out " + same.string() + " is the same file as TRAIN " + path.string(), "expected another"});
    }
  for (const char* const name : {"link", "hard"})
    expect_error(
        [&] {
          refuse_same_file({"--out", folder.path() / name}, {{"TRAIN", there}});
        },
        there, {name, "is the same file as TRAIN"});
  CHECK_NOTHROW(
      refuse_same_file({"--out", absent}, {{"TRAIN", there}, {"--save", folder.path() / "deeper" / "absent"}}));
  CHECK_NOTHROW(refuse_same_file({"--out", ""}, {{"--save", ""}}));
}

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
