#pragma once
#include <string>
namespace dsop::bench {
struct KernelOptions {
  std::size_t rows = 4096, columns = 4096;
  int iterations = 20;
};
int run_kernel(KernelOptions, const std::string&, const std::string&, const std::string&);
}  // namespace dsop::bench
