#include "wire.hpp"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/fnv.hpp"
#include "collect.hpp"
#include "host.hpp"

namespace dsop::bench {

namespace {

// Bytes that this host's eth0 has sent so far.
std::size_t interface_bytes_sent() {
  // eth0: then eight numbers of what was received, of which bytes are the first, then the bytes sent
  std::ifstream file("/proc/net/dev");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::size_t number = 0;
    if (!(words >> name) || name != "eth0:") continue;
    for (int column = 0; column < 9; ++column) words >> number;
    return number;
  }
  return 0;
}

}  // namespace

bool on_emulated_cluster() {
  return std::getenv("DSOP_CLUSTER") != nullptr;
}

std::vector<std::size_t> wire_bytes(Transport& transport, const std::function<void()>& call) {
  barrier(transport);
  const std::size_t before = interface_bytes_sent();
  call();
  barrier(transport);
  if (!on_emulated_cluster()) return {};
  struct HostBytes {
    std::size_t host;  // a hash of its name
    std::size_t bytes;
  };
  std::map<std::size_t, std::size_t> by_host;
  for (const auto& [host, bytes] :
       of_all_ranks(transport, HostBytes{checksum(host_name()), interface_bytes_sent() - before}))
    by_host[host] = bytes;
  std::vector<std::size_t> sent;
  for (const auto& [host, bytes] : by_host) sent.push_back(bytes);
  return sent;
}

}  // namespace dsop::bench
