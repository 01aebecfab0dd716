// What a rank's header says, and what all headers together mean.
#pragma once

#include <cstdint>
#include <vector>

#include <dsop/dsop.hpp>

#include "calls/header.hpp"

namespace dsop {

/// The number of non-zeros that a layer's shape lets expect.
Sparsity expected_sparsity(const Shape& shape, DataType type);

/// What does not depend on factors and gradient. Counts the call.
Header make_header(Transport& transport, std::uint64_t object, Operation operation, const Options& options);

/// The problem that the ranks have in common.
Problem problem_of(const std::vector<Header>& headers, const Transport& transport);

/// The method that all ranks have, for elements that several of them compute.
ProductMethod shared_method(const std::vector<Header>& headers);

/// Whether a plan for `left` serves `right` too.
bool same_terms(const std::vector<Header>& left, const std::vector<Header>& right);

}  // namespace dsop
