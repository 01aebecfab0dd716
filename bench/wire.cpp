#include "wire.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace dsop::bench {

bool on_emulated_cluster() {
  return std::getenv("DSOP_CLUSTER") != nullptr;
}

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

}  // namespace dsop::bench
