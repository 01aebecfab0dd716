#include "launch/memory.hpp"

#include <string>
#include <vector>

#include <dsop/errors.hpp>

#include "base/fnv.hpp"
#include "base/host_name.hpp"
#include "launch/launch.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::launch {
namespace {

void check_available(const std::string& who_needs, std::size_t needed_bytes) {
  const std::size_t available = available_memory_bytes();
  if (available > 0 && needed_bytes > available)
    throw Error("out of memory: " + who_needs + " " + std::to_string(needed_bytes) + " bytes and " +
                std::to_string(available) + " are available");
}

}  // namespace

std::vector<int> ranks_on_this_host(Transport& transport) {
  const std::size_t own = static_cast<std::size_t>(checksum(host_name()));
  const std::vector<std::size_t> hosts = patterns::of_all_ranks(transport, own);
  std::vector<int> ranks;
  for (int r = 0; r < transport.size(); ++r)
    if (hosts[static_cast<std::size_t>(r)] == own) ranks.push_back(r);
  return ranks;
}

void check_memory(Transport& transport, std::size_t needed_bytes) {
  const std::vector<std::size_t> needs = patterns::of_all_ranks(transport, needed_bytes);
  const std::vector<int> ranks = ranks_on_this_host(transport);
  std::size_t needed_on_host = 0;
  for (const int rank : ranks) needed_on_host += needs[static_cast<std::size_t>(rank)];
  on_all_ranks(transport, [&] {
    // One for all of its host: others would see a little more or less.
    if (transport.rank() == ranks.front()) check_available("the ranks on " + host_name() + " need", needed_on_host);
  });
}

void check_memory(std::size_t needed_bytes) {
  check_available("this needs", needed_bytes);
}

}  // namespace dsop::launch
