#include "machine_out.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <dsop/errors.hpp>

namespace dsop::bench {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw Error("--out " + path + ": can't be written: " + std::strerror(error));
}

}  // namespace

void check_machine_out(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status old = fs::status(path, error);
  if (fs::is_directory(old)) refuse(path, EISDIR);
  if (fs::exists(old) && !fs::is_regular_file(old)) return;  // /dev/stdout
  // The file is written beside an old one and then takes its place, so its folder counts.
  const fs::path folder = fs::path(path).parent_path();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) refuse(path, errno);
}

void write_machine_out(const Machine& machine, const std::string& path) {
  try {
    write_machine(machine, path);
  } catch (const Error& failure) {
    throw Error("--out " + path + ": " + failure.what());
  }
}

}  // namespace dsop::bench
