#include "memory.hpp"

#include "launch/memory.hpp"

namespace dsop::bench {

void check_memory(Transport& transport, std::size_t needed_bytes) {
  launch::check_memory(transport, needed_bytes);
}

void check_memory(std::size_t needed_bytes) {
  launch::check_memory(needed_bytes);
}

}  // namespace dsop::bench
