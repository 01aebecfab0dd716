// Labelled pictures of digits, whatever they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dsop::learn {

struct Digits {
  std::size_t rows = 0;              ///< of one picture
  std::size_t columns = 0;           ///< of one picture
  std::vector<std::uint8_t> pixels;  ///< one picture after the other, row by row; 0 is paper, 255 is ink
  std::vector<std::uint8_t> labels;  ///< 0 to 9, one a picture

  std::size_t count() const { return labels.size(); }
};

}  // namespace dsop::learn
