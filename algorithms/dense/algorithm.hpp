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
#include "memory/arena.hpp"

namespace dsop {

/// Of an allreduce: `data` becomes the sum of all ranks' data, the same bits on every rank. Of a broadcast: it becomes
/// that of `root`. Of a reduce: that of `root` becomes the sum, and the others' may become anything. `memory` has the
/// workspace_bytes(), `parameter` is what the plan chose.
template <class T>
struct DenseCall {
  Transport& transport;
  std::span<T> data;
  Arena& memory;
  double parameter;
  /// Puts the elements of a part of `data` there, where that is left until the algorithm asks for them.
  Callback<std::span<T>> make = {};
  int root = 0;
  /// Adds this rank's elements to a part of `data` that holds the sum of others'.
  Callback<std::span<T>> add = {};

  /// As the algorithm's memory sees it.
  DenseProblem problem(Wire wire = Wire::full) const {
    return {.elements = data.size(), .ranks = transport.size(), .type = data_type<T>, .wire = wire};
  }
};

/// Memory for what is received of other ranks' data, up to all of it, before it is added.
template <class T>
struct Received {
  Received(Arena& arena, const DenseProblem& problem, double = 0) : elements(arena.take<T>(problem.elements)) {}
  std::span<T> elements;
};

struct DenseAlgorithm {
  std::string name;
  std::string summary;
  std::string source;
  std::string other_name = {};     ///< what a paper calls it; found by it too
  bool native = false;             ///< runs inside the MPI library: its messages can't be counted, its cost is a guess
  bool measured = false;           ///< native, and a machine may say what it takes
  bool asks_for_elements = false;  ///< calls make() once for each part before it first uses it; else all must be there
  bool asks_for_sums = false;      ///< if add is given: calls make() for what it sends first, add() for all else
  double needed_lead = 1;  ///< for sparse sums `auto` takes it where it is predicted to be so many times as fast
  std::string (*unsupported)(const DenseProblem&) = [](const DenseProblem&) { return std::string(); };
  Parameter<DenseProblem> parameter = {};
  Cost (*cost)(const DenseProblem&, const Machine&, double parameter);
  std::size_t (*workspace_bytes)(const DenseProblem&, double parameter) = [](const DenseProblem&, double) {
    return std::size_t{0};
  };
  TypedRun<DenseCall> run;
  void (*run_bf16)(DenseCall<float>&) = nullptr;  ///< parts travel as bf16, sums stay in f32; null: it can't
};

/// The allreduces.
const Registry<DenseAlgorithm>& dense_algorithms();
const Registry<DenseAlgorithm>& broadcast_algorithms();
const Registry<DenseAlgorithm>& reduce_algorithms();

}  // namespace dsop
