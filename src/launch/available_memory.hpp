// How much memory this host has left.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace dsop::launch {

/// Bytes that this host can still give (Linux's MemAvailable): it would grant more, and end the process when they are
/// touched. 0 where the system does not tell.
inline std::size_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::size_t kilobytes = 0;
  for (std::string unit; file >> name >> kilobytes; std::getline(file, unit))
    if (name == "MemAvailable:") return kilobytes * 1024;
  return 0;
}

}  // namespace dsop::launch
