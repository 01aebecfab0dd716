#include "learn/programs/memory_check.hpp"

#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include <dsop/errors.hpp>

#include "launch/launch.hpp"
#include "launch/memory.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {
namespace {

void check_available(const std::string& who_needs, std::size_t needed_bytes) {
  const std::size_t available = launch::available_memory_bytes();
  if (available > 0 && needed_bytes > available)
    throw Error("out of memory: " + who_needs + " " + std::to_string(needed_bytes) + " bytes and " +
                std::to_string(available) + " are available");
}

}  // namespace

void check_memory(Transport& transport, std::size_t needed_bytes) {
  const std::vector<std::size_t> needs = patterns::of_all_ranks(transport, needed_bytes);
  const std::vector<int> ranks = launch::ranks_on_this_host(transport);
  std::size_t needed_on_host = 0;
  for (const int rank : ranks) needed_on_host += needs[static_cast<std::size_t>(rank)];
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  launch::on_all_ranks(transport, [&] {
    // One for all of its host: others would see a little more or less.
    if (transport.rank() == ranks.front())
      check_available("the ranks on " + std::string(host.data()) + " need", needed_on_host);
  });
}

void check_memory(std::size_t needed_bytes) {
  check_available("this needs", needed_bytes);
}

}  // namespace dsop::learn
