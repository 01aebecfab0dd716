// Whether a small layer's sum shares a call with others'.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <dsop/plan.hpp>

namespace dsop::outer_product {

/// In a bucket of factors, in one of dense gradients, or in none.
enum class Shared : unsigned char { nothing, factors, gradient };

/// What the layer takes of a bucket of factors: the bytes of all ranks' if each gives so many pairs or, where its
/// gradient is large, a quarter of that, since the products of a bucket are made at once, when all its factors have
/// come.
std::size_t factor_bucket_bytes(const Problem& problem, std::size_t most_pairs);

/// The cheapest for a layer, of what fits into buckets of `bucket_bytes`: what was measured to be the fastest for it by
/// itself, or else what is predicted. In a bucket it adds bytes and arithmetic, and no message. `algorithm` is the one
/// that was named, or "auto"; `factor_bytes` what the layer takes of a bucket of factors.
Shared choose_shared(const Problem& problem, const Machine& machine, const std::string& algorithm,
                     std::size_t factor_bytes, std::size_t bucket_bytes);

/// What one call is predicted to take that gathers the factors of all these layers, of the same ranks and type, with
/// the agreement that opens it.
double factor_bucket_seconds(const std::vector<const Problem*>& layers, const Machine& machine);

}  // namespace dsop::outer_product
