#include "learn/strategies/xi.hpp"

#include <cmath>
#include <cstdint>

#include <dsop/collectives.hpp>
#include <dsop/selection.hpp>

namespace dsop::learn {
namespace {

std::vector<float> largest(const std::vector<float>& values, std::size_t k) {
  std::vector<std::uint32_t> indices(k);
  std::vector<float> chosen(k), all(values.size());
  Selector<float> exact("exact");
  exact.select(values, k, indices, chosen);
  for (std::size_t e = 0; e < k; ++e) all[indices[e]] = chosen[e];
  return all;
}

}  // namespace

double xi(Transport& transport, std::map<std::string, XiPart>& parts) {
  double missed = 0, whole = 0;
  for (auto& [name, part] : parts) {
    allreduce<float>(transport, part.gradient);
    allreduce<float>(transport, part.accumulated);
    const std::vector<float> best = largest(part.accumulated, part.k);
    for (std::size_t i = 0; i < best.size(); ++i) {
      missed += std::pow(static_cast<double>(best[i]) - static_cast<double>(part.sum[i]), 2);
      whole += std::pow(static_cast<double>(part.gradient[i]), 2);
    }
  }
  return std::sqrt(missed / whole);
}

}  // namespace dsop::learn
