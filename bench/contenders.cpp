#include "contenders.hpp"

#include <algorithm>
#include <iostream>
#include <set>
#include <tuple>

#include <dsop/algorithms.hpp>
#include <dsop/errors.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/outer_product/operation.hpp"
#include "base/shown.hpp"
#include "collect.hpp"
#include "compare/rival.hpp"
#include "host.hpp"
#include "launch/launch.hpp"

namespace dsop::bench {
namespace {

void check_known(const std::string& name, Calls calls) {
  const bool whole = calls == Calls::whole;
  if (name == auto_probed || name == sharded || rivals().find(name) != nullptr) {
    if (!whole) throw ArgumentError("--algorithm is " + name + ", expected with --overlap what can be started");
    return;
  }
  if (name == "auto" || name == near || name == eligible) return;
  if (outer_product_algorithms().find(without_parameter(name)) != nullptr) {
    parse_algorithm(name, "algorithm", outer_product_algorithms());
    return;
  }
  throw ArgumentError("algorithm is " + shown(name) + ", expected all, near, eligible, auto, " +
                      (whole ? "auto-probed, sharded, external, " : "") + "or one of " +
                      outer_product_algorithms().names() + (whole ? ", " + rivals().names() : ""));
}

std::vector<std::string> expand(const std::vector<std::string>& names, const Transport& transport, const Problem& any,
                                Calls calls) {
  std::vector<std::string> expanded;
  const auto add_unless = [&](const std::string& reason, const std::string& name) {
    if (reason.empty())
      expanded.push_back(name);
    else if (transport.rank() == 0)
      std::cout << "# without " << name << ": it " << reason << '\n';
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (const OuterProductAlgorithm& algorithm : outer_product_algorithms())
        add_unless(why_unsupported(algorithm, any), algorithm.name);
    } else if (name == "external") {
      for (const Rival& rival : rivals()) add_unless(rival.unsupported(transport), rival.name);
    } else {
      check_known(name, calls);
      if (const Rival* const rival = rivals().find(name)) check_usable(*rival, transport);
      expanded.push_back(name);
    }
  }
  const auto is_compared_with = [](const std::string& name) {
    return name == near || name == eligible || is_dense(name);
  };
  if (calls == Calls::started || is_simulated() || std::ranges::any_of(expanded, is_compared_with)) return expanded;
  const std::string ring = any.wire == Wire::full ? "allreduce-ring-pipelined" : "allreduce-ring";
  for (const std::string& base : {ring, mpi_allreduce})
    if (why_unsupported(*outer_product_algorithms().find(base), any).empty()) expanded.push_back(base);
  return expanded;
}

Problem problem_here(Transport& transport, const Point& point, DataType type, Wire wire, Encoding encoding) {
  Problem problem{.rows = point.rows,
                  .columns = point.columns,
                  .pairs = std::vector<std::size_t>(static_cast<std::size_t>(transport.size()), point.pairs),
                  .type = type};
  problem.group = {transport.has_native_collectives(), nodes_of_ranks(transport)};
  problem.wire = wire;
  const Sparsity sparsity = outer_product::expected_sparsity(shape_of(point, encoding), type, Wire::full);
  if (sparsity != Sparsity{}) problem.sparsity.assign(problem.pairs.size(), sparsity);
  return problem;
}

}  // namespace

Shape shape_of(const Point& point, Encoding encoding) {
  Shape shape{point.rows, point.columns, point.pairs};
  if (encoding != Encoding::dense) {
    shape.density_a = point.densities.a;
    shape.density_b = point.densities.b;
  }
  return shape;
}

bool is_dense(const std::string& algorithm) {
  if (const Rival* const rival = rivals().find(algorithm)) return rival->dense;
  const OuterProductAlgorithm* const own = outer_product_algorithms().find(without_parameter(algorithm));
  return own != nullptr && !own->sends_factors;
}

std::string without_parameter(const std::string& text) {
  return text.substr(0, text.find('('));
}

std::vector<std::string> expand_algorithms(Transport& transport, const std::vector<std::string>& names, Wire wire,
                                           Calls calls) {
  std::vector<std::string> expanded;
  // Nothing of the shape matters but which algorithms it lets serve.
  const Problem any = problem_here(transport, {1, 1, 1}, DataType::f32, wire, Encoding::dense);
  launch::on_all_ranks(transport, [&] { expanded = expand(names, transport, any, calls); });
  return expanded;
}

Plan predict(Transport& transport, const Point& point, DataType type, Wire wire, const std::optional<Machine>& machine,
             Encoding encoding) {
  return make_plan(problem_here(transport, point, type, wire, encoding), machine_of_calls(transport, machine));
}

std::vector<std::string> near_the_best(const Plan& plan, double factor) {
  double least_seconds = plan.candidates.front().seconds();
  for (const Candidate& candidate : plan.candidates)
    if (candidate.unsupported.empty()) least_seconds = std::min(least_seconds, candidate.seconds());
  std::vector<std::string> names;
  for (const Candidate& candidate : plan.candidates)
    if (candidate.unsupported.empty() && candidate.seconds() <= factor * least_seconds)
      names.push_back(without_parameter(candidate.algorithm));
  return names;
}

std::vector<std::string> eligible_names(const Plan& plan) {
  const auto code = [](const Candidate& one) {
    return std::tuple(one.cost.messages, one.cost.bytes, one.cost.flops, one.seconds());
  };
  std::set<std::tuple<std::size_t, std::size_t, double, double>> codes;
  std::vector<std::string> names;
  for (const std::string& name : near_the_best(plan, eligible_factor)) {
    const Candidate& candidate = *std::ranges::find(
        plan.candidates, name, [](const Candidate& one) { return without_parameter(one.algorithm); });
    const OuterProductAlgorithm& algorithm = *outer_product_algorithms().find(name);
    if (algorithm.native() || algorithm.published) continue;
    if (codes.insert(code(candidate)).second) names.push_back(name);
  }
  return names;
}

namespace {

// A machine that describes another place than this one would leave out what is fast here.
std::vector<std::string> near_names(Transport& transport, const Point& point, DataType type, Wire wire,
                                    const std::optional<Machine>& machine, Encoding encoding) {
  std::vector<std::string> names = near_the_best(predict(transport, point, type, wire, machine, encoding), near_factor);
  if (!machine) return names;
  const Plan without = predict(transport, point, type, wire, std::nullopt, encoding);
  for (const std::string& name : near_the_best(without, near_factor))
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

}  // namespace

std::vector<EncodedAlgorithm> expand_near(Transport& transport, const std::vector<std::string>& names,
                                          const std::vector<Encoding>& encodings, const Point& point, DataType type,
                                          Wire wire, const std::optional<Machine>& machine) {
  std::vector<EncodedAlgorithm> expanded;
  for (const std::string& name : names) {
    if (name == sharded || rivals().find(name) != nullptr) {
      expanded.push_back({name});
      continue;
    }
    for (const Encoding encoding : encodings) {
      std::vector<std::string> candidates{name};
      if (name == near) candidates = near_names(transport, point, type, wire, machine, encoding);
      if (name == eligible) candidates = eligible_names(predict(transport, point, type, wire, machine, encoding));
      for (const std::string& candidate : candidates) expanded.push_back({candidate, encoding});
    }
  }
  return expanded;
}

}  // namespace dsop::bench
