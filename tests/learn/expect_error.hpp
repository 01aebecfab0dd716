// The errors that reading a bad file gives.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include <dsop/errors.hpp>

namespace dsop::learn {

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
