#include "calls/terms.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "kernels/blas_info.hpp"
#include "kernels/threads.hpp"
#include "sparse/factor.hpp"
#include "transport/call_state.hpp"

namespace dsop {

Sparsity expected_sparsity(const Shape& shape, DataType type) {
  const auto form = [&](std::size_t columns, double density) {
    const double elements = density * static_cast<double>(shape.planned_pairs()) * static_cast<double>(columns);
    return sparse::smaller_form(shape.planned_pairs(), columns, static_cast<std::size_t>(elements), type);
  };
  return {form(shape.rows, shape.density_a), form(shape.columns, shape.density_b)};
}

Header make_header(Transport& transport, std::uint64_t object, Operation operation, const Options& options) {
  Header header;
  header.common.call = transport.calls().calls++;
  header.common.object = object;
  if (const std::string& parameter = transport.calls().parameter; !parameter.empty())
    header.common.parameter = std::hash<std::string>()(parameter);
  header.common.operation = operation;
  header.common.accumulate = options.accumulate;
  header.common.scale = options.scale;
  header.common.wire = options.wire;
  options.algorithm.copy(header.common.algorithm.data(), header.common.algorithm.size() - 1);
  describe_machine(options.machine ? *options.machine : transport.default_machine(), header.common);
  header.own.threads = static_cast<std::int32_t>(kernels::thread_count());
  header.own.node = transport.node();
  header.own.instructions = best_instruction_set();
  header.own.staged_result = options.accumulate;
  header.own.checks_bits = options.check_bits;
  header.own.allows_progress_thread = transport.allows_progress_thread();
  header.own.on_progress_thread = transport.calls().queue->on_progress_thread();
  kernels::blas_core_name().copy(header.own.blas_core.data(), header.own.blas_core.size() - 1);
  return header;
}

Problem problem_of(const std::vector<Header>& headers, const Transport& transport) {
  const CommonTerms& common = headers[0].common;
  Problem problem{.rows = common.rows, .columns = common.columns, .type = common.type};
  problem.native_collectives = transport.has_native_collectives();
  problem.wire = common.wire;
  problem.sharded = common.operation == Operation::sharded_outer_product;
  problem.rows_only = common.operation == Operation::outer_product_rows;
  std::vector<int> nodes;
  for (const Header& header : headers) {
    problem.pairs.push_back(header.own.pairs);
    problem.staged_result |= header.own.staged_result;
    problem.sparsity.push_back(header.own.sparsity);
    nodes.push_back(header.own.node);
  }
  if (!problem.rows_only &&
      std::all_of(headers.begin(), headers.end(), [](const Header& h) { return h.own.sparsity == Sparsity{}; }))
    problem.sparsity.clear();
  problem.nodes = shared_nodes(std::move(nodes));
  return problem;
}

ProductMethod shared_method(const std::vector<Header>& headers) {
  ProductMethod method;
  for (const Header& header : headers) {
    method.instructions = std::min(method.instructions, header.own.instructions);
    method.blas_allowed = method.blas_allowed && header.own.strides_fit_blas &&
                          header.own.blas_core == headers[0].own.blas_core &&
                          header.own.threads == headers[0].own.threads;
  }
  return method;
}

bool same_terms(const std::vector<Header>& left, const std::vector<Header>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](Header l, const Header& r) {
    l.common.call = r.common.call;
    l.common.scale = r.common.scale;
    return l == r;
  });
}

}  // namespace dsop
