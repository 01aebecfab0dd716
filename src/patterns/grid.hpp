// A matrix shared out among ranks in two dimensions.
#pragma once

#include <cstddef>

#include "patterns/blocks.hpp"

namespace dsop::patterns {

/// Blocks of a matrix in `height` rows of ranks / height blocks each; rank r's is number r, row by row. The sizes of
/// rows and columns differ by at most one, and blocks may be empty.
/// Example: 6 ranks, height 2: 0 1 2
///                             3 4 5
class Grid {
 public:
  Grid(std::size_t rows, std::size_t columns, int ranks, int height)
      : rows_(rows, height), columns_(columns, ranks / height), height_(height), width_(ranks / height) {}

  int height() const { return height_; }
  int width() const { return width_; }
  std::size_t first_row(int rank) const { return rows_.offset(rank / width_); }
  std::size_t rows(int rank) const { return rows_.size(rank / width_); }
  std::size_t first_column(int rank) const { return columns_.offset(rank % width_); }
  std::size_t columns(int rank) const { return columns_.size(rank % width_); }
  std::size_t most_rows() const { return rows_.largest(); }
  std::size_t most_columns() const { return columns_.largest(); }

 private:
  Blocks rows_;
  Blocks columns_;
  int height_;
  int width_;
};

}  // namespace dsop::patterns
