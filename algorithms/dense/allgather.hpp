// What an allgather of blocks of any sizes is to dsop, and which there are.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <dsop/counting.hpp>
#include <dsop/machine.hpp>
#include <dsop/problem.hpp>
#include <dsop/transport.hpp>

#include "base/registry.hpp"

namespace dsop {

struct AllgatherCall {
  Transport& transport;
  std::span<std::byte> data;  ///< all blocks; this rank's is there before
  const AllgatherProblem& problem;

  std::span<std::byte> blocks(int first, int count = 1) const {
    return data.subspan(problem.bounds_bytes[static_cast<std::size_t>(first)], problem.bytes(first, count));
  }
};

/// The allgather to which rank r of so many gives bytes_of(r).
template <class BytesOf>
AllgatherProblem blocks_of(const Group& group, int ranks, const BytesOf& bytes_of) {
  AllgatherProblem problem{{0}, group};
  for (int r = 0; r < ranks; ++r) problem.bounds_bytes.push_back(problem.total_bytes() + bytes_of(r));
  return problem;
}

struct AllgatherAlgorithm {
  std::string name;
  std::string summary;
  std::string source;
  bool native = false;  ///< runs inside the MPI library: its messages can't be counted, its cost is a guess
  std::string (*unsupported)(const AllgatherProblem&) = [](const AllgatherProblem&) { return std::string(); };
  Traffic (*sent)(const AllgatherProblem&, int rank);
  double (*seconds)(const AllgatherProblem&, const Machine&);
  void (*run)(AllgatherCall&);
};

const Registry<AllgatherAlgorithm>& allgather_algorithms();

/// The fastest by its cost formula; never a native one.
const AllgatherAlgorithm& cheapest_allgather(const AllgatherProblem& problem, const Machine& machine);

/// Where ranks come to it one after the other, as from products: the fastest by its cost formula and
/// needed_lead_out_of_step; never a native one.
const AllgatherAlgorithm& cheapest_allgather_out_of_step(const AllgatherProblem& problem, const Machine& machine);

}  // namespace dsop
