#include "outer_product.hpp"

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>

#include <dsop/algorithms.hpp>
#include <dsop/errors.hpp>

#include "collect.hpp"
#include "compare/rival.hpp"
#include "host.hpp"
#include "launch/launch.hpp"
#include "outer_product/algorithm.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "wire.hpp"

namespace dsop::bench {
namespace {

void check_known(const std::string& name) {
  if (name == "auto" || name == sharded || rivals().find(name) != nullptr) return;
  if (outer_product_algorithms().find(name.substr(0, name.find('('))) != nullptr) {
    parse_algorithm(name);
    return;
  }
  throw ArgumentError("algorithm is " + name + ", expected all, auto, external, or one of " +
                      outer_product_algorithms().names() + ", " + rivals().names());
}

std::vector<std::string> expand(const std::vector<std::string>& names, const Transport& transport, const Problem& any) {
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
      check_known(name);
      if (const Rival* const rival = rivals().find(name)) check_usable(*rival, transport);
      expanded.push_back(name);
    }
  }
  return expanded;
}

// Nothing of it matters but which algorithms it lets serve.
Problem any_problem(Transport& transport, Wire wire) {
  Problem any{
      .rows = 1, .columns = 1, .pairs = std::vector<std::size_t>(static_cast<std::size_t>(transport.size()), 1)};
  any.native_collectives = transport.has_native_collectives();
  any.wire = wire;
  any.nodes = of_all_ranks(transport, transport.node());
  if (std::set(any.nodes.begin(), any.nodes.end()).size() == any.nodes.size()) any.nodes.clear();
  return any;
}

// Hosts that do not share their cores: the emulated cluster's do.
std::size_t count_nodes(Transport& transport) {
  const std::vector<std::size_t> hosts = of_all_ranks(transport, std::hash<std::string>()(host_name()));
  return on_emulated_cluster() ? 1 : std::set(hosts.begin(), hosts.end()).size();
}

std::string describe(const Point& point) {
  return std::to_string(point.rows) + " x " + std::to_string(point.columns) + ", " + std::to_string(point.pairs) +
         " pairs";
}

}  // namespace

std::vector<Point> points(const OuterProductOptions& options) {
  std::vector<Point> list;
  for (const std::size_t rows : options.rows)
    for (const std::size_t columns : options.columns.empty() ? std::vector{rows} : options.columns)
      for (const std::size_t pairs : options.pairs) list.push_back({rows, columns, pairs, options.densities});
  return list;
}

std::vector<std::string> expand_algorithms(Transport& transport, const std::vector<std::string>& names, Wire wire) {
  std::vector<std::string> expanded;
  const Problem any = any_problem(transport, wire);
  launch::on_all_ranks(transport, [&] { expanded = expand(names, transport, any); });
  return expanded;
}

void benchmark_outer_product(Transport& transport, const OuterProductOptions& options) {
  const bool speaks = transport.rank() == 0;
  const nlohmann::ordered_json simulation = simulation_facts();
  if (!simulation.is_null() && simulation.at("folded") && options.encodings != std::vector{Encoding::dense})
    throw ArgumentError("--encoding: what sparse factors send depends on data, which is there with --real alone");
  std::ofstream out;
  launch::on_all_ranks(transport, [&] {
    if (!speaks || options.out.empty()) return;
    out.open(options.out, std::ios::app);
    if (!out) throw Error("--out " + options.out + ": can't be opened for writing");
  });

  const std::string base = transport.has_native_collectives() ? "allreduce-mpi" : "allreduce-ring";
  const std::vector<std::string> algorithms = expand_algorithms(transport, options.algorithms, options.wire);
  nlohmann::ordered_json host = host_facts();
  host["nodes"] = count_nodes(transport);
  if (speaks && (options.densities.a < 1 || options.densities.b < 1))
    std::cout << "# share of elements that are not zero: of a " << options.densities.a << ", of b "
              << options.densities.b << '\n';
  if (speaks) print_table_head(std::cout, transport, options.type, base);

  std::size_t wrong = 0;
  ProgressLine progress(speaks);
  const std::vector<Point> all_points = points(options);
  for (std::size_t p = 0; p < all_points.size(); ++p) {
    MeasureOptions measure_options{options.verify,   options.machine, options.protocol, options.wire, {},
                                   options.encodings};
    measure_options.progress = [&](const std::string& what) {
      std::ostringstream text;
      text << '[' << p + 1 << '/' << all_points.size() << "] " << describe(all_points[p]) << ": " << what;
      progress.show(text.str());
    };
    const auto measure_type = options.type == DataType::f32 ? measure<float> : measure<double>;
    const std::vector<Measurement> rows = measure_type(transport, all_points[p], algorithms, measure_options);
    for (const Measurement& row : rows) wrong += row.wrong.value_or(0);
    if (!speaks) continue;
    progress.clear();
    print_table_rows(std::cout, rows, base);
    if (out.is_open()) write_json_lines(out, rows, transport, host);
    if (out.is_open() && !out) throw Error("--out " + options.out + ": can't be written");
  }
  launch::on_all_ranks(transport, [&] {
    if (wrong > 0) throw Error(std::to_string(wrong) + " elements are wrong");
  });
}

}  // namespace dsop::bench
