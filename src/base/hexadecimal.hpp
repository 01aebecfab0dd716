// Hashes as text.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

namespace dsop {

/// In as few digits as it has.
inline std::string hexadecimal(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

}  // namespace dsop
