// For a build without Gloo.
#include "compare/gloo.hpp"

namespace dsop::bench::compare {

std::string gloo_unavailable() {
  return "needs Gloo, and this build is without (install libgloo-dev; meson setup -Dgloo=enabled)";
}

template <class T>
std::unique_ptr<VectorSum> gloo_sum(Transport&, GlooAlgorithm, std::span<T>, const std::string&) {
  return nullptr;
}

template std::unique_ptr<VectorSum> gloo_sum(Transport&, GlooAlgorithm, std::span<float>, const std::string&);
template std::unique_ptr<VectorSum> gloo_sum(Transport&, GlooAlgorithm, std::span<double>, const std::string&);

}  // namespace dsop::bench::compare
