#include "learn/tasks/gather.hpp"

#include <string>

#include <dsop/dsop.hpp>

#include "learn/layers/matrix.hpp"
#include "learn/tasks/task.hpp"

namespace dsop::learn {

namespace {

// Row r are rank r's numbers.
Matrix<double> numbers_of_all(Transport& transport, std::span<const double> own) {
  // The outer product of a 1 in the rank's place and the numbers has them in the rank's row.
  const auto ranks = static_cast<std::size_t>(transport.size());
  std::vector<double> place(ranks);
  place[static_cast<std::size_t>(transport.rank())] = 1;
  Matrix<double> all(ranks, own.size());
  dsop(transport, Factors<double>{{place.data(), 1, ranks}, {own.data(), 1, own.size()}}, all.view());
  return all;
}

}  // namespace

std::vector<double> sums_over_ranks(Transport& transport, std::span<const double> own) {
  const Matrix<double> all = numbers_of_all(transport, own);
  std::vector<double> sums(own.size());
  for (std::size_t r = 0; r < all.rows(); ++r)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += all.view().row(r)[i];
  return sums;
}

void check_samples(std::size_t samples, const Share& share) {
  if (samples >= share.batch()) return;
  throw ArgumentError("--batch is " + std::to_string(share.per_rank) + ", so a step of " + std::to_string(share.ranks) +
                      " ranks takes " + std::to_string(share.batch()) + " samples, but there are " +
                      std::to_string(samples) + " to train on");
}

}  // namespace dsop::learn
