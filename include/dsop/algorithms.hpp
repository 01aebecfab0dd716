// What algorithms there are: the registries, as a program or a person may list them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace dsop {

/// One line of a registry.
struct AlgorithmDescription {
  /// "outer-product", "sharded", "dense", "broadcast", "reduce", "allgather", "sparse", "topk", "selection"
  std::string family;
  std::string name;        ///< as Options::algorithm and the command line take it
  std::string summary;     ///< one line
  std::string source;      ///< paper, section
  bool published = false;  ///< here to be compared with its paper: it may be named, and `auto` never takes it
};

/// All algorithms of all families, in the registries' order.
std::vector<AlgorithmDescription> describe_algorithms();

/// The names of the outer-product algorithms.
std::vector<std::string> algorithm_names();

}  // namespace dsop
