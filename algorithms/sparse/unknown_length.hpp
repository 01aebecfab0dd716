// What is told before blocks are gathered: an allgather puts each in its place, which lengths alone tell.
#pragma once

#include <cstddef>
#include <string>

#include <dsop/errors.hpp>

namespace dsop::sparse {

inline constexpr std::size_t length_bytes = sizeof(std::size_t);

[[noreturn]] inline void refuse_length(std::size_t bytes, std::size_t most_bytes) {
  throw TransportError("messages of " + std::to_string(bytes) + " bytes were announced, expected at most " +
                       std::to_string(most_bytes));
}

}  // namespace dsop::sparse
