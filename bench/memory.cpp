#include "memory.hpp"

#include <string>
#include <vector>

#include <dsop/errors.hpp>

#include "collect.hpp"
#include "host.hpp"
#include "launch/launch.hpp"
#include "launch/memory.hpp"

namespace dsop::bench {
namespace {

void check_available(const std::string& who_needs, std::size_t needed_bytes) {
  const std::size_t available = launch::available_memory_bytes();
  if (available > 0 && needed_bytes > available)
    throw Error("out of memory: " + who_needs + " " + std::to_string(needed_bytes) + " bytes and " +
                std::to_string(available) + " are available");
}

}  // namespace

void check_memory(Transport& transport, std::size_t needed_bytes) {
  const std::vector<std::size_t> needs = of_all_ranks(transport, needed_bytes);
  std::size_t needed_on_host = 0;
  for (const int rank : launch::ranks_on_this_host(transport)) needed_on_host += needs[static_cast<std::size_t>(rank)];
  launch::on_all_ranks(transport, [&] { check_available("the ranks on " + host_name() + " need", needed_on_host); });
}

void check_memory(std::size_t needed_bytes) {
  check_available("this needs", needed_bytes);
}

}  // namespace dsop::bench
