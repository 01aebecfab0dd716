#include <optional>
#include <sstream>

#include <dsop/dsop.hpp>
#include <dsop/sparse_allreduce.hpp>
#include <dsop/topk_allreduce.hpp>

#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/status.hpp"

namespace {

using namespace dsop::c;

std::vector<std::size_t> of_each_rank(const size_t* numbers, int ranks, const char* name) {
  if (ranks < 1) throw dsop::ArgumentError("ranks is " + std::to_string(ranks) + ", expected at least 1");
  if (numbers == nullptr) throw dsop::ArgumentError(std::string(name) + " is null, expected a number for each rank");
  return {numbers, numbers + ranks};
}

const dsop::Machine& machine_of(const std::optional<dsop::Machine>& given) {
  static const dsop::Machine default_machine;
  return given ? *given : default_machine;
}

template <class Plan>
void give_plan(const Plan& plan, const char** text, double* seconds) {
  if (text != nullptr) *text = keep_text((std::ostringstream() << plan).str());
  put_if_wanted(seconds, plan.seconds());
}

}  // namespace

int dsop_plan_outer_products(dsop_type type, size_t rows, size_t columns, const size_t* pairs, int ranks,
                             const char* options, const char** text, double* seconds) {
  return returning_status([&] {
    dsop::Problem problem{
        .rows = rows, .columns = columns, .pairs = of_each_rank(pairs, ranks, "pairs"), .type = data_type_of(type)};
    std::string algorithm = "auto";
    std::optional<dsop::Machine> machine;
    read_options(options, {{"algorithm", &algorithm},
                           {"machine", &machine},
                           {"wire", &problem.wire},
                           {"factor_wire", &problem.factor_wire},
                           {"sharded", &problem.sharded},
                           {"nodes", &problem.group.nodes}});
    give_plan(dsop::make_plan(problem, machine_of(machine), algorithm), text, seconds);
  });
}

int dsop_plan_sparse(dsop_type type, size_t elements, const size_t* nonzeros, int ranks, const char* options,
                     const char** text, double* seconds) {
  return returning_status([&] {
    dsop::SparseProblem problem{
        .elements = elements, .nonzeros = of_each_rank(nonzeros, ranks, "nonzeros"), .type = data_type_of(type)};
    std::string algorithm = "auto";
    std::optional<dsop::Machine> machine;
    read_options(options, {{"algorithm", &algorithm},
                           {"machine", &machine},
                           {"wire", &problem.wire},
                           {"overlap", &problem.overlap},
                           {"nodes", &problem.group.nodes}});
    give_plan(dsop::make_sparse_plan(problem, machine_of(machine), algorithm), text, seconds);
  });
}

int dsop_plan_topk(dsop_type type, size_t elements, size_t k, int ranks, const char* options, size_t* messages,
                   size_t* bytes, double* seconds) {
  return returning_status([&] {
    if (ranks < 1) throw dsop::ArgumentError("ranks is " + std::to_string(ranks) + ", expected at least 1");
    dsop::TopKProblem problem{.elements = elements, .k = k, .ranks = ranks, .type = data_type_of(type)};
    std::string algorithm = dsop::TopKOptions().algorithm;
    std::optional<dsop::Machine> machine;
    read_options(
        options,
        {{"algorithm", &algorithm}, {"machine", &machine}, {"wire", &problem.wire}, {"nodes", &problem.group.nodes}});
    const dsop::Cost cost = dsop::topk_cost(problem, machine_of(machine), algorithm);
    put_if_wanted(messages, cost.messages);
    put_if_wanted(bytes, cost.bytes);
    put_if_wanted(seconds, cost.seconds());
  });
}
