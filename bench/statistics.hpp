#pragma once
#include <span>
namespace dsop::bench {
double median(std::span<const double>);
double quantile(std::span<const double>, double);
}  // namespace dsop::bench
