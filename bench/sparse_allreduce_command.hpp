// The command line of dsop-bench sparse-allreduce.
#pragma once

#include <algorithm>
#include <string>

#include <dsop/selection.hpp>

#include "command_options.hpp"
#include "sparse_allreduce.hpp"

namespace dsop::bench {

class SparseAllreduceCommand {
 public:
  void add_to(CLI::App* command) {
    command->add_option("--size", sizes_, "Elements N: a list, or first:last:step")->capture_default_str();
    command->add_option("--density", densities_, "Share of them that a rank has: a list")->capture_default_str();
    command->add_option("--distribution", distribution_, "Where they are")
        ->check(CLI::IsMember(distribution_names))
        ->capture_default_str();
    command->add_option("--algorithm", algorithms_, "all, auto, or a list of names")->capture_default_str();
    command->add_option("--select", options_.selection,
                        "Vectors are dense, like gradients, and the density is what this algorithm of the family "
                        "\"selection\" selects of them; algorithms of the family \"topk\" select as they do");
    command->add_flag("--communication-alone", options_.communication_alone, "Time without the selection");
    launch::add_choice(command, "--wire", options_.wire, Wire::bf16, "full, or bf16: values travel in 16 bits");
    add_type(command, options_.type, options_.protocol);
    add_protocol(command, options_.protocol, options_.verify, options_.out);
  }

  /// As they stand on the command line. Throws Error naming an option that can't be read.
  SparseBenchOptions options() const {
    SparseBenchOptions options = options_;
    options.sizes = parse_numbers("--size", sizes_);
    options.densities = parse_shares("--density", densities_);
    options.distribution =
        static_cast<Distribution>(std::ranges::find(distribution_names, distribution_) - distribution_names.begin());
    options.algorithms = split_names(algorithms_);
    if (!options.selection.empty()) check_selection(options.selection);
    if (options.communication_alone && options.selection.empty())
      throw ArgumentError("--communication-alone says nothing without --select, expected both");
    return options;
  }

 private:
  static void check_selection(const std::string& name) {
    try {
      static_cast<void>(Selector<float>(name));
    } catch (const ArgumentError& error) {
      throw ArgumentError(std::string("--select: ") + error.what());
    }
  }

  std::string sizes_ = "1000000";
  std::string densities_ = "0.001,0.01,0.1";
  std::string distribution_ = "uniform";
  std::string algorithms_ = "all,auto";
  SparseBenchOptions options_;
};

}  // namespace dsop::bench
