// Seconds of one plan, for ranks that are not there.
#include <cstddef>
#include <span>
#include <vector>

#include <dsop/collectives.hpp>
#include <dsop/plan.hpp>
#include <dsop/sparse_allreduce.hpp>
#include <dsop/topk_allreduce.hpp>

#include "calls.hpp"
#include "echo_transport.hpp"

namespace calls {

void planning(const Options& options) {
  for (const int ranks : {64, 1024}) {
    const dsop::Machine machine;
    dsop::Problem product{.rows = 4000, .columns = 4000, .group = {.native = true}};
    dsop::SparseProblem sparse{.elements = 1'000'000, .group = {.native = true}};
    for (int r = 0; r < ranks; ++r) {
      product.pairs.push_back(28 + static_cast<std::size_t>(r % 8));
      product.group.nodes.push_back(r / 4 * 4);
      sparse.nonzeros.push_back(10'000 + static_cast<std::size_t>(r % 8));
    }
    dsop::Problem of_sparse_factors = product;
    of_sparse_factors.sparsity.assign(product.pairs.size(), {10'000, dsop::Sparsity::dense});
    dsop::Problem sharded = product;
    sharded.sharded = true;
    const dsop::TopKProblem topk{.elements = 1'000'000, .k = 10'000, .ranks = ranks, .group = {.native = true}};
    EchoTransport echo(ranks);
    std::vector<float> vector(100'000);
    std::size_t elements = 1000;
    std::vector<Loop> loops{
        {"make_plan()", [&] { dsop::make_plan(product, machine); }},
        {"make_plan(), sparse factors", [&] { dsop::make_plan(of_sparse_factors, machine); }},
        {"make_plan(), sharded", [&] { dsop::make_plan(sharded, machine); }},
        {"make_sparse_plan()", [&] { dsop::make_sparse_plan(sparse, machine); }},
        {"topk_cost(), topk", [&] { dsop::topk_cost(topk, machine, "topk"); }},
        {"topk_cost(), ok-topk", [&] { dsop::topk_cost(topk, machine, "ok-topk"); }},
        // Their planner is not public, so this is the whole call, whose messages are copies in memory.
        {"allreduce() of a new size", [&] {
           elements = elements < vector.size() ? elements + 1 : 1000;
           dsop::allreduce<float>(echo, std::span(vector).first(elements));
         }}};
    measure_by_turns(loops, options.seconds);
    print_times(options, "planning", std::to_string(ranks) + " ranks", ranks, loops);
  }
}

}  // namespace calls
