#include "launch/memory.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "patterns/of_all_ranks.hpp"

namespace dsop::launch {

std::size_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::size_t kilobytes = 0;
  for (std::string unit; file >> name >> kilobytes; std::getline(file, unit))
    if (name == "MemAvailable:") return kilobytes * 1024;
  return 0;
}

std::vector<int> ranks_on_this_host(Transport& transport) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::size_t own = std::hash<std::string_view>()(name.data());
  const std::vector<std::size_t> hosts = patterns::of_all_ranks(transport, own);
  std::vector<int> ranks;
  for (int r = 0; r < transport.size(); ++r)
    if (hosts[static_cast<std::size_t>(r)] == own) ranks.push_back(r);
  return ranks;
}

}  // namespace dsop::launch
