// Gloo, the library of collectives below PyTorch's distributed training on processors, over its own TCP connections.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <dsop/transport.hpp>

#include "compare/vector_sum.hpp"

namespace dsop::bench::compare {

enum class GlooAlgorithm { ring, halving_doubling };

/// Why Gloo can't be used, or "".
std::string gloo_unavailable();

/// Connects all ranks with each other and makes Gloo's algorithm for this vector ready. `name` is what used() gives.
/// Throws ArgumentError when the vector is longer than the algorithm can count.
template <class T>
std::unique_ptr<VectorSum> gloo_sum(Transport& transport, GlooAlgorithm algorithm, std::span<T> elements,
                                    const std::string& name);

}  // namespace dsop::bench::compare
