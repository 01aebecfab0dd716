// The command lines of dsop-bench allreduce, broadcast and reduce.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "collectives.hpp"
#include "command_options.hpp"

namespace dsop::bench {

class CollectivesCommand {
 public:
  /// `add_common(command)` adds what all commands have.
  template <class AddCommon>
  void add_to(CLI::App& app, AddCommon add_common) {
    for (const Collective operation : {Collective::allreduce, Collective::broadcast, Collective::reduce}) {
      const std::string name = dsop::name(operation);
      CLI::App* const command = app.add_subcommand(name, "Every " + name + " of dense vectors, in one run");
      add_common(command);
      command->add_option("--size", sizes_, "Elements N: a list, or first:last:step")->capture_default_str();
      if (operation != Collective::allreduce)
        command->add_option("--root", options_.root, "The rank that has the vector, or gets the sum")
            ->capture_default_str();
      command->add_option("--algorithm", algorithms_, "all, auto, or a list of names")->capture_default_str();
      add_type(command, options_.type, options_.protocol);
      add_protocol(command, options_.protocol, options_.verify, options_.out);
      command->callback([this, operation] {
        options_.operation = operation;
        parsed_ = true;
      });
    }
  }

  bool parsed() const { return parsed_; }

  /// As they stand on the command line. Throws Error naming an option that can't be read.
  CollectiveBenchOptions options() const {
    CollectiveBenchOptions options = options_;
    options.sizes = parse_numbers("--size", sizes_);
    options.algorithms = split(algorithms_, ',');
    return options;
  }

 private:
  std::string sizes_ = "1024,65536,4194304";
  std::string algorithms_ = "all,auto";
  CollectiveBenchOptions options_;
  bool parsed_ = false;
};

}  // namespace dsop::bench
