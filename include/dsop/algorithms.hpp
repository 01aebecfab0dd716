// What algorithms there are: the registries, as a program or a person may list them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace dsop {

/// One line of a registry.
struct AlgorithmDescription {
  std::string family;   ///< "outer-product", "sharded", "dense", "allgather", "sparse", "topk", "selection"
  std::string name;     ///< as Options::algorithm and the command line take it
  std::string summary;  ///< one line
  std::string source;   ///< paper, section
};

/// All algorithms of all families, in the registries' order.
std::vector<AlgorithmDescription> describe_algorithms();

/// The names of the outer-product algorithms.
std::vector<std::string> algorithm_names();

}  // namespace dsop
