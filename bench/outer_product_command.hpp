// The command lines of dsop-bench outer-product, and of tune, which has its shapes.
#pragma once

#include <string>

#include <dsop/errors.hpp>

#include "command_options.hpp"
#include "outer_product.hpp"

namespace dsop::bench {

class OuterProductCommand {
 public:
  void add_shapes_to(CLI::App* command) {
    shapes_.add_to(command);
    add_type(command, options_.type, options_.protocol);
  }

  void add_to(CLI::App* command) {
    add_shapes_to(command);
    command
        ->add_option("--algorithm", algorithms_,
                     "all, near (within 2.5 times the least predicted time), nearest (the six that auto would take "
                     "first), auto, auto-probed (auto without "
                     "--machine), sharded, external, or a list of names")
        ->capture_default_str();
    command->add_option("--density", density_, "Share of the factors' elements that are not zero: a and b, or A,B")
        ->capture_default_str();
    command->add_option("--encoding", encoding_,
                        "How factors are handed over, some of dense, find-zeros, sparse; default dense, and sparse "
                        "too where --density is below 1");
    launch::add_choice(command, "--wire", options_.wire, Wire::bf16, "full, or bf16: parts of G travel in 16 bits");
    add_protocol(command, options_.protocol, options_.verify, options_.out);
    CLI::Option* const overlap = command->add_flag(
        "--overlap", overlap_, "Measure the share of a started call that is hidden behind arithmetic");
    for (const char* const other :
         {"--density", "--encoding", "--repetitions", "--first-repetition", "--precision", "--verify", "--wire"})
      overlap->excludes(command->get_option(other));
  }

  bool overlap() const { return overlap_; }

  /// As they stand on the command line. Throws Error naming an option that can't be read.
  OuterProductOptions options() const {
    OuterProductOptions options = options_;
    options.algorithms = split(algorithms_, ',');
    options.densities = parse_densities(density_);
    options.points = shapes_.points(options.densities);
    options.encodings = parse_encodings(encoding_, options.densities);
    return options;
  }

 private:
  ShapeLists shapes_;
  std::string algorithms_ = "all,auto";
  std::string density_ = "1";
  std::string encoding_;
  bool overlap_ = false;
  OuterProductOptions options_;
};

}  // namespace dsop::bench
