// Options as text: "algorithm=ring; scale=0.5".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <dsop/collectives.hpp>
#include <dsop/dsop.hpp>
#include <dsop/sparse_allreduce.hpp>
#include <dsop/synchronizer.hpp>

#include "c/handles.hpp"

namespace dsop::c {

template <>
inline constexpr const char* kind_of<Machine> = "machine";

/// An option, and what is set where a text has it.
struct Option {
  std::string_view name;
  std::variant<std::string*, double*, bool*, std::size_t*, int*, Wire*, Overlap*, std::vector<int>*,
               std::optional<Machine>*>
      value;
};

/// Reads pairs NAME=VALUE. Throws ArgumentError for a value that can't be, and for a name that is not in `table`.
void read_options(const char* text, const std::vector<Option>& table);

struct LayerOptions {
  Shape shape;
  Options options;
};

CollectiveOptions collective_options(const char* text);
Options outer_product_options(const char* text);
LayerOptions layer_options(const Shape& shape, const char* text);
struct ParameterOptions {
  Shape shape;
  BiasOf bias_of = {};
};

ParameterOptions parameter_options(const Shape& shape, const char* text);
SynchronizerOptions synchronizer_options(const char* text);

/// SparseAllreduceOptions or TopKOptions.
template <class Options>
Options allreduce_options(const char* text) {
  Options options;
  read_options(text, {{"algorithm", &options.algorithm}, {"machine", &options.machine}, {"wire", &options.wire}});
  return options;
}

}  // namespace dsop::c
