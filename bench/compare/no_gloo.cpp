// For a build without Gloo.
#include "compare/gloo.hpp"

#include <dsop/types.hpp>

namespace dsop::bench::compare {

std::string gloo_unavailable() {
  return "needs Gloo, and this build is without (install libgloo-dev; meson setup -Dgloo=enabled)";
}

template <class T>
std::unique_ptr<VectorSum> gloo_sum(Transport&, GlooAlgorithm, std::span<T>, const std::string&) {
  return nullptr;
}

#define INSTANTIATE(T) \
  template std::unique_ptr<VectorSum> gloo_sum(Transport&, GlooAlgorithm, std::span<T>, const std::string&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
#undef INSTANTIATE

}  // namespace dsop::bench::compare
