#include "outer_product.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include <dsop/errors.hpp>

#include "collect.hpp"
#include "contenders.hpp"
#include "host.hpp"
#include "launch/launch.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "wire.hpp"

namespace dsop::bench {
namespace {

// Hosts that do not share their cores: the emulated cluster's do.
std::size_t count_nodes(Transport& transport) {
  const std::vector<std::size_t> hosts = of_all_ranks(transport, std::hash<std::string>()(host_name()));
  return on_emulated_cluster() ? 1 : std::set(hosts.begin(), hosts.end()).size();
}

}  // namespace

void benchmark_outer_product(Transport& transport, const OuterProductOptions& options) {
  const bool speaks = transport.rank() == 0;
  if (data_is_folded() && options.encodings != std::vector{Encoding::dense})
    throw ArgumentError("--encoding: what sparse factors send depends on data, which is there with --real alone");
  RowsFile file;
  launch::on_all_ranks(transport, [&] {
    if (speaks) file.open(options.out);
  });

  const bool mpi_can = transport.has_native_collectives() && options.wire == Wire::full;
  const std::string base = mpi_can ? "allreduce-mpi" : "allreduce-ring";
  const std::vector<std::string> algorithms = expand_algorithms(transport, options.algorithms, options.wire);
  nlohmann::ordered_json host = host_facts();
  host["nodes"] = count_nodes(transport);
  if (speaks && (options.densities.a < 1 || options.densities.b < 1))
    std::cout << "# share of elements that are not zero: of a " << options.densities.a << ", of b "
              << options.densities.b << '\n';
  if (speaks) print_table_head(std::cout, transport, options.type, base);

  std::size_t wrong = 0;
  ProgressLine progress(speaks);
  const std::vector<Point>& all_points = options.points;
  for (std::size_t p = 0; p < all_points.size(); ++p) {
    const MeasureOptions measure_options{options.verify, options.machine, options.protocol, options.wire,
                                         progress_of(progress, all_points, p)};
    const auto measure_type = visit(options.type, []<class T>(T) { return measure<T>; });
    const std::vector<EncodedAlgorithm> asked = expand_near(transport, algorithms, options.encodings, all_points[p],
                                                            options.type, options.wire, options.machine);
    const std::vector<Measurement> rows = measure_type(transport, all_points[p], asked, measure_options);
    for (const Measurement& row : rows) wrong += row.wrong.value_or(0);
    if (!speaks) continue;
    progress.clear();
    print_table_rows(std::cout, rows, base);
    file.append([&](std::ostream& out) { write_json_lines(out, rows, transport, host); });
  }
  launch::on_all_ranks(transport, [&] {
    if (wrong > 0) throw Error(std::to_string(wrong) + " elements are wrong");
  });
}

}  // namespace dsop::bench
