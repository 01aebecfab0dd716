// What a selection of about k elements is to dsop, and which there are.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <dsop/selection.hpp>

#include "algorithms/selection/memory.hpp"
#include "base/parameter.hpp"
#include "base/registry.hpp"
#include "sparse/vector.hpp"

namespace dsop {

/// About `k` (1 .. values.size()) of `values` go to `chosen`, and their indices, rising, to `indices`; both have one
/// size, at least k. `parameter` is the caller's number or the algorithm's default. All from `count` on are results.
template <class T>
struct SelectionCall {
  std::span<const T> values;
  std::size_t k;
  double parameter;
  SelectionState& state;
  selection::Memory<T>& memory;
  std::span<sparse::Index> indices;
  std::span<T> chosen;
  const TypedRun<SelectionCall>* in_buckets = nullptr;  ///< of one per bucket: what chooses in each
  std::size_t count = 0;
  double threshold = 0;
  bool has_all_not_finite = false;            ///< no NaN or infinity is left out; false: nobody looked
  bool evaluated = false;                     ///< as in Selection
  std::optional<std::size_t> predicted = {};  ///< the same; none: what is chosen

  std::size_t room() const { return chosen.size(); }
};

struct SelectionAlgorithm {
  std::string name;
  std::string summary;
  std::string source;
  bool published = false;  ///< here to be compared with its paper
  Parameter<> parameter = {};
  TypedRun<SelectionCall> run;
  std::optional<TypedRun<SelectionCall>> in_buckets = {};  ///< none but where it is made per bucket
};

const Registry<SelectionAlgorithm>& selection_algorithms();

}  // namespace dsop
