#include "memory.hpp"

#include "learn/programs/memory_check.hpp"

namespace dsop::bench {

void check_memory(Transport& transport, std::size_t needed_bytes) {
  learn::check_memory(transport, needed_bytes);
}

void check_memory(std::size_t needed_bytes) {
  learn::check_memory(needed_bytes);
}

}  // namespace dsop::bench
