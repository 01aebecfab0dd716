// One run at a time for a checkpoint's path.
#include "learn/training/path_lock.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

using dsop::learn::expect_error;
using dsop::learn::PathLock;
using dsop::learn::TemporaryFolder;
namespace fs = std::filesystem;

TEST_CASE("lock: a second run is refused while the first holds the path, by whatever link, and not after it") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "checkpoint";
  const fs::path link = folder.path() / "link";
  fs::create_symlink("checkpoint", link);
  std::optional<PathLock> first(path);
  for (const fs::path& other : {path, link})
    expect_error([&] { PathLock second(other); }, other,
                 {"is written by another run, which holds ", "checkpoint.lock"});
  const PathLock elsewhere(folder.path() / "other");
  first.reset();
  CHECK_FALSE(fs::exists(path.string() + ".lock"));
  const PathLock second(path);
}

TEST_CASE("lock: what a killed run has left does not keep others away") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("checkpoint.lock", "");
  { const PathLock lock(folder.path() / "checkpoint"); }
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("lock: a user's own file of its name stays, and a link is not followed") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "checkpoint";
  const fs::path file = folder.write("checkpoint.lock", "mine");
  { const PathLock lock(path); }
  CHECK(fs::file_size(file) == 4);
  fs::remove(file);
  fs::create_symlink(folder.path() / "elsewhere", file);
  expect_error([&] { PathLock lock(path); }, file, {"can't be opened"});
  CHECK_FALSE(fs::exists(folder.path() / "elsewhere"));
  fs::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  { const PathLock lock(path); }
  CHECK(fs::is_fifo(file));
  CHECK_THROWS_AS(PathLock(folder.path() / "absent" / "checkpoint"), dsop::Error);
}
