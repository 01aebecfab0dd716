// What a collective on dense vectors is to dsop, and which there are.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <dsop/plan.hpp>
#include <dsop/transport.hpp>

#include "base/callback.hpp"
#include "base/parameter.hpp"
#include "base/registry.hpp"

namespace dsop {

/// Of an allreduce: `data` becomes the sum of all ranks' data, the same bits on every rank. Of a broadcast: it becomes
/// that of `root`. Of a reduce: that of `root` becomes the sum, and the others' may become anything. `workspace` has
/// exactly workspace_elements(), `parameter` is what the plan chose.
template <class T>
struct DenseCall {
  Transport& transport;
  std::span<T> data;
  std::span<T> workspace;
  double parameter;
  /// Puts the elements of a part of `data` there, where that is left until the algorithm asks for them.
  Callback<std::span<T>> make = {};
  int root = 0;
  /// Adds this rank's elements to a part of `data` that holds the sum of others'.
  Callback<std::span<T>> add = {};
};

struct DenseAlgorithm {
  std::string name;
  std::string summary;
  std::string source;
  std::string other_name = {};     ///< what a paper calls it; found by it too
  bool native = false;             ///< runs inside the MPI library: its messages can't be counted, its cost is a guess
  bool asks_for_elements = false;  ///< calls make() once for each part before it first uses it; else all must be there
  bool asks_for_sums = false;      ///< if add is given: calls make() for what it sends first, add() for all else
  double needed_lead = 1;  ///< for sparse sums `auto` takes it where it is predicted to be so many times as fast
  std::string (*unsupported)(const DenseProblem&) = [](const DenseProblem&) { return std::string(); };
  Parameter<DenseProblem> parameter = {};
  Cost (*cost)(const DenseProblem&, const Machine&, double parameter);
  std::size_t (*workspace_elements)(const DenseProblem&, double parameter);
  TypedRun<DenseCall> run;
  void (*run_bf16)(DenseCall<float>&) = nullptr;  ///< parts travel as bf16, sums stay in f32; null: it can't
};

/// The allreduces.
const Registry<DenseAlgorithm>& dense_algorithms();
const Registry<DenseAlgorithm>& broadcast_algorithms();
const Registry<DenseAlgorithm>& reduce_algorithms();

}  // namespace dsop
