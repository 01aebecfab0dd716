// The command lines of the benchmarks that ranks run: dsop-bench outer-product, whose shapes tune has too,
// sparse-allreduce, allreduce, broadcast and reduce.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include <dsop/errors.hpp>
#include <dsop/selection.hpp>

#include "command_options.hpp"
#include "launch/command_line.hpp"
#include "outer_product.hpp"
#include "vector_benchmarks.hpp"

namespace dsop::bench {

struct OuterProductCommand {
  bool overlap = false;

  void add_shapes_to(CLI::App* command) {
    shapes_.add_to(command);
    add_type(command, options_.type, options_.protocol);
  }

  void add_to(CLI::App* command) {
    add_shapes_to(command);
    add_names(command, "all,auto", options_.algorithms,
              "all, near (within 2.5 times the least predicted time), eligible (all that auto may "
              "take), auto, auto-probed (auto without --machine), sharded, external, or a list of names");
    add_parsed(command, "--density", "1", "Share of the factors' elements that are not zero: a and b, or A,B",
               [this](const std::string& text) { options_.densities = parse_densities(text); });
    command->add_option("--encoding", encoding_,
                        "How factors are handed over, some of dense, find-zeros, sparse; default dense, and sparse "
                        "too where --density is below 1");
    launch::add_choice(command, "--wire", options_.wire, Wire::bf16, "full, or bf16: parts of G travel in 16 bits");
    add_protocol(command, options_.protocol, options_.verify, options_.out);
    CLI::Option* const option =
        command->add_flag("--overlap", overlap, "Measure the share of a started call that is hidden behind arithmetic");
    for (const char* const other :
         {"--density", "--encoding", "--repetitions", "--first-repetition", "--precision", "--verify", "--wire"})
      option->excludes(command->get_option(other));
  }

  /// As they stand on the command line. Throws Error naming an option that can't be read.
  OuterProductOptions options() const {
    OuterProductOptions options = options_;
    options.points = shapes_.points(options.densities);
    options.is_a_model = !shapes_.layers.empty() && shapes_.pairs.size() == 1;
    options.encodings = parse_encodings(encoding_, options.densities);
    return options;
  }

 private:
  ShapeLists shapes_;
  std::string encoding_;
  OuterProductOptions options_;
};

inline void add_sparse_allreduce(CLI::App* command, SparseBenchOptions& options) {
  add_numbers(command, "--size", "1000000", options.sizes, "Elements N: a list, or first:last:step");
  add_parsed(command, "--density", "0.001,0.01,0.1", "Share of them that a rank has: a list",
             [&](const std::string& text) { options.densities = parse_shares("--density", text); });
  add_parsed(command, "--distribution", "uniform", "Where they are", [&](const std::string& text) {
    options.distribution =
        static_cast<Distribution>(std::ranges::find(distribution_names, text) - distribution_names.begin());
  })->check(CLI::IsMember(distribution_names));
  add_names(command, "all,auto", options.algorithms, "all, auto, or a list of names");
  CLI::Option* const selection =
      add_parsed(command, "--select", "",
                 "Vectors are dense, like gradients, and the density is what this algorithm of the family "
                 "\"selection\" selects of them; algorithms of the family \"topk\" select as they do",
                 [&](const std::string& text) {
                   options.selection = text;
                   try {
                     if (!text.empty()) static_cast<void>(Selector<float>(text));
                   } catch (const ArgumentError& error) {
                     throw ArgumentError(std::string("--select: ") + error.what());
                   }
                 });
  command->add_flag("--communication-alone", options.communication_alone, "Time without the selection")
      ->needs(selection);
  launch::add_choice(command, "--wire", options.wire, Wire::bf16, "full, or bf16: values travel in 16 bits");
  add_type(command, options.type, options.protocol);
  add_protocol(command, options.protocol, options.verify, options.out);
}

/// Adds a command for each. The one that is given sets `given`.
template <class AddCommon>
void add_collectives(CLI::App& app, CollectiveBenchOptions& options, bool& given, AddCommon add_common) {
  for (const Collective operation : {Collective::allreduce, Collective::broadcast, Collective::reduce}) {
    const std::string name = dsop::name(operation);
    CLI::App* const command = app.add_subcommand(name, "Every " + name + " of dense vectors, in one run");
    add_common(command);
    add_numbers(command, "--size", "1024,65536,4194304", options.sizes, "Elements N: a list, or first:last:step");
    if (operation != Collective::allreduce)
      command->add_option("--root", options.root, "The rank that has the vector, or gets the sum")
          ->capture_default_str();
    add_names(command, "all,auto", options.algorithms, "all, auto, or a list of names");
    add_type(command, options.type, options.protocol);
    add_protocol(command, options.protocol, options.verify, options.out);
    command->callback([&options, &given, operation] {
      options.operation = operation;
      given = true;
    });
  }
}

}  // namespace dsop::bench
