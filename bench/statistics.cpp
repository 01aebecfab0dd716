#include "statistics.hpp"
#include <algorithm>
#include <vector>
namespace dsop::bench {
double quantile(std::span<const double> s, double q) {
  std::vector<double> v(s.begin(), s.end());
  std::sort(v.begin(), v.end());
  double x = q * static_cast<double>(v.size() - 1);
  auto i = static_cast<std::size_t>(x);
  return i + 1 < v.size() ? v[i] + (x - static_cast<double>(i)) * (v[i + 1] - v[i]) : v[i];
}
double median(std::span<const double> s) {
  return quantile(s, 0.5);
}
}  // namespace dsop::bench
