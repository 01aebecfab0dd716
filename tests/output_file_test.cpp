// Files that are written whole or not at all.
#include "base/output_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

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

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("output: a file is there when it is finished, and the old one until then") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("file", "old");
  {
    OutputFile file(path);
    file.stream() << "new";
    CHECK(names_in(folder.path()).size() == 2);
  }
  CHECK(text_of(path) == "old");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
  OutputFile file(path);
  file.stream() << "new";
  CHECK(text_of(path) == "old");
  file.finish();
  CHECK(text_of(path) == "new");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
}

TEST_CASE("output: two that write one path at a time do not hurt each other") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  auto first = std::make_unique<OutputFile>(path);
  first->stream() << "first";
  {
    OutputFile second(path);
    second.stream() << "second";
    second.finish();
  }
  CHECK(text_of(path) == "second");
  { const OutputFile given_up(path); }
  first->finish();
  CHECK(text_of(path) == "first");
  first.reset();
  CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
}

TEST_CASE("output: a user's own files beside it stay, and a link or a pipe there is not followed") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  const fs::path target = folder.write("target", "mine");
  const fs::path beside = folder.path() / "file.unfinished";
  const int kind = GENERATE(0, 1, 2);
  if (kind == 0) folder.write("file.unfinished", "mine");
  if (kind == 1) fs::create_symlink(target, beside);
  if (kind == 2) REQUIRE(mkfifo(beside.c_str(), 0600) == 0);
  OutputFile file(path);
  file.stream() << "new";
  file.finish();
  CHECK(text_of(path) == "new");
  CHECK(text_of(target) == "mine");
  if (kind == 0) CHECK(text_of(beside) == "mine");
  if (kind == 1) CHECK(fs::is_symlink(beside));
  if (kind == 2) CHECK(fs::is_fifo(beside));
}

TEST_CASE("output: what killed processes have left is removed, and nothing else") {
  const TemporaryFolder folder;
  for (const char* const name :
       {"file", "file.unfinished", "file..unfinished", "file.12ab.unfinished", "file.0.unfinished",
        "file.12xy.unfinished", "file.12.unfinished.txt", "other.12ab.unfinished"})
    folder.write(name, "text");
  fs::create_symlink("file", folder.path() / "link");
  dsop::remove_unfinished(folder.path() / "link");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"file", "file..unfinished", "file.12.unfinished.txt",
                                                            "file.12xy.unfinished", "file.unfinished", "link",
                                                            "other.12ab.unfinished"});
  dsop::remove_unfinished(folder.path() / "absent" / "file");
}

TEST_CASE("output: the old file's mode stays, and is that of a file that is not finished yet") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("file", "old");
  for (const auto mode : {fs::perms(0600), fs::perms(0666), fs::perms(0640)}) {
    fs::permissions(path, mode);
    OutputFile file(path);
    for (const std::string& name : names_in(folder.path()))
      CHECK(fs::status(folder.path() / name).permissions() == mode);
    file.finish();
    CHECK(fs::status(path).permissions() == mode);
  }
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
  CHECK_THAT(error, Catch::Matchers::Contains("file: can't be written: File too large"));
  CHECK(text_of(path) == "old");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"file"});
}
