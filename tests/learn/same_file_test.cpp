// Files that programs write are none that they read.
#include "learn/data/same_file.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using dsop::learn::expect_error;
using dsop::learn::refuse_same_file;
using dsop::learn::TemporaryFolder;

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
