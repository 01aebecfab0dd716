#include "memory.hpp"

#include <string>

#include <dsop/errors.hpp>

#include "collect.hpp"
#include "host.hpp"
#include "launch/launch.hpp"
#include "launch/memory.hpp"

namespace dsop::bench {
namespace {

struct Need {
  std::size_t host;  // a hash of its name
  std::size_t bytes;
};

void check_available(const std::string& who_needs, std::size_t needed_bytes) {
  const std::size_t available = launch::available_memory_bytes();
  if (available > 0 && needed_bytes > available)
    throw Error("out of memory: " + who_needs + " " + std::to_string(needed_bytes) + " bytes and " +
                std::to_string(available) + " are available");
}

}  // namespace

void check_memory(Transport& transport, std::size_t needed_bytes) {
  const std::size_t host = std::hash<std::string>()(host_name());
  std::size_t needed_on_host = 0;
  for (const Need& need : of_all_ranks(transport, Need{host, needed_bytes}))
    if (need.host == host) needed_on_host += need.bytes;
  launch::on_all_ranks(transport, [&] { check_available("the ranks on " + host_name() + " need", needed_on_host); });
}

void check_memory(std::size_t needed_bytes) {
  check_available("this needs", needed_bytes);
}

}  // namespace dsop::bench
