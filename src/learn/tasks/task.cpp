#include "learn/tasks/task.hpp"

#include <dsop/errors.hpp>

#include "base/fnv.hpp"
#include "base/hexadecimal.hpp"

namespace dsop::learn {

void check_samples(std::size_t samples, const Share& share) {
  if (samples >= share.batch()) return;
  throw ArgumentError("--batch is " + std::to_string(share.per_rank) + ", so a step of " + std::to_string(share.ranks) +
                      " ranks takes " + std::to_string(share.batch()) + " samples, but there are " +
                      std::to_string(samples) + " to train on");
}

std::string data_identity(std::initializer_list<std::span<const std::byte>> data) {
  std::uint64_t sum = fnv_start;
  for (const std::span<const std::byte> part : data)
    sum = fnv(sum, checksum({reinterpret_cast<const char*>(part.data()), part.size()}));
  return "data " + hexadecimal(sum);
}

}  // namespace dsop::learn
