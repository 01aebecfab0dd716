// What the benchmarks of sparse vectors and of selecting share: names, and going through sizes and densities.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <dsop/errors.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "host.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "sparse_allreduce.hpp"

namespace dsop::bench {

inline bool selects(const std::string& algorithm) {
  return topk_algorithms().find(algorithm.substr(0, algorithm.find('('))) != nullptr;
}

/// What a row says of an algorithm: its name, and what travels where that is not as usual.
inline std::string label(const std::string& algorithm, const SparseBenchOptions& options) {
  return options.wire == Wire::full ? algorithm : algorithm + ":" + std::string(name(options.wire));
}

/// The algorithms that options.algorithms stand for, "all" being those that can run here, of the family "topk" too if
/// `with_topk`. Throws ArgumentError if one is unknown or can't run here.
inline std::vector<std::string> expand_all(Transport& transport, const SparseBenchOptions& options, bool with_topk) {
  SparseProblem any{.elements = 1, .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(transport.size()), 1)};
  any.native_collectives = transport.has_native_collectives();
  any.wire = options.wire;
  std::vector<std::string> expanded;
  for (const std::string& name : options.algorithms) {
    if (name != "all") {
      if (with_topk && selects(name))
        parse_topk(name);
      else
        make_sparse_plan(any, transport.default_machine(), name);
      expanded.push_back(name);
      continue;
    }
    for (const SparseAlgorithm& algorithm : sparse_algorithms())
      if (why_unsupported(algorithm, any).empty()) expanded.push_back(algorithm.name);
    if (!with_topk) continue;
    for (const TopKAlgorithm& algorithm : topk_algorithms()) expanded.push_back(algorithm.name);
  }
  return expanded;
}

/// Throws ArgumentError where a simulation moves no data.
inline void check_has_data() {
  if (data_is_folded())
    throw ArgumentError("sparse-allreduce: what is sent depends on data, which is there with --real alone");
}

/// For each size and density: measure(size, density, progress) on all ranks; rank 0 lets its rows be printed and
/// written, print(rows, size) and write(out, rows, size, density).
template <class Measure, class Print, class Write>
void for_each_problem(Transport& transport, const SparseBenchOptions& options, RowsFile& file, Measure measure,
                      Print print, Write write) {
  const bool speaks = transport.rank() == 0;
  ProgressLine progress(speaks);
  for (const std::size_t size : options.sizes)
    for (const double density : options.densities) {
      const auto show = [&](const std::string& what) {
        progress.show(std::to_string(size) + " elements, density " + std::to_string(density) + ": " + what);
      };
      const auto rows = measure(size, density, show);
      if (!speaks) continue;
      progress.clear();
      print(rows, size);
      file.append([&](std::ostream& out) { write(out, rows, size, density); });
    }
}

}  // namespace dsop::bench
