// What fuzz-parsers feeds with mutated bytes.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "temporary_folder.hpp"

namespace dsop::learn {

struct Reader {
  const char* name;
  std::function<void(const std::filesystem::path&)> read;
  std::vector<std::string> good;
  /// The file of what has been mutated: where that has a checksum the right one, or nothing behind it would be read.
  std::function<std::string(const std::string&)> sealed = [](const std::string& bytes) { return bytes; };
};

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Of a whole checkpoint of the training loop, of one of a linear model, and of a synchronizer's state alone.
Reader checkpoint_reader(const TemporaryFolder& folder);
Reader linear_checkpoint_reader(const TemporaryFolder& folder);
Reader synchronizer_reader();

}  // namespace dsop::learn
