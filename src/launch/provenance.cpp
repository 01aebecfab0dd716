#include "launch/provenance.hpp"

#include <array>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "commit.hpp"

namespace dsop::launch {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown";
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

// As one would type it.
std::string command() {
  std::ifstream file("/proc/self/cmdline");
  std::string line;
  for (std::string word; std::getline(file, word, '\0');) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$&|;<>()*?[]{}~#!`") == std::string::npos;
    for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) word.replace(at, 1, R"('\'')");
    line.append(line.empty() ? "" : " ").append(plain ? word : "'" + word + "'");
  }
  return line;
}

}  // namespace

nlohmann::ordered_json provenance() {
  return {{"commit", commit}, {"cpu", processor()}, {"date", date()}, {"command", command()}};
}

}  // namespace dsop::launch
