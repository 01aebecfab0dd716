// What can be wrong with one rank's arguments.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include <dsop/dsop.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/outer_product/tries.hpp"
#include "base/check_aligned.hpp"
#include "base/check_wire.hpp"
#include "base/checked.hpp"
#include "base/refuse.hpp"
#include "sparse/arguments.hpp"
#include "sparse/factor.hpp"
#include "sparse/overlap.hpp"

namespace dsop {

template <class T>
void check_view(const char* argument, const MatrixView<T>& view) {
  const auto refuse_its = [&](const char* member, const auto& value, const std::string& expected) {
    refuse(std::string(argument).append(member), value, expected);
  };
  if (view.rows > 1 && view.stride < view.columns)
    refuse_its(".stride", view.stride,
               std::string("at least ") + argument + ".columns = " + std::to_string(view.columns));
  if (view.rows > 0 && view.columns > 0) {
    if (view.data == nullptr) refuse_its(".data", "null", "memory for its elements");
    check_aligned(view.data, argument, ".data");
    checked_bytes(argument, {view.rows, std::max(view.stride, view.columns), sizeof(T)});
  }
}

/// Of a factor's columns.
struct Expected {
  const char* what;
  std::size_t value;

  std::string text() const { return what + std::to_string(value); }
};

template <class T>
void check_factors(const SparseFactors<T>& factors, const Expected& rows, const Expected& columns) {
  std::visit([](const auto& a) { check_view("a", a); }, factors.a);
  std::visit([](const auto& b) { check_view("b", b); }, factors.b);
  const std::size_t pairs = sparse::rows_of(factors.a);
  if (pairs != sparse::rows_of(factors.b))
    refuse("b.rows", sparse::rows_of(factors.b), "a.rows = " + std::to_string(pairs) + " (one of each a pair)");
  if (pairs == 0) return;
  if (sparse::columns_of(factors.a) != rows.value) refuse("a.columns", sparse::columns_of(factors.a), rows.text());
  if (sparse::columns_of(factors.b) != columns.value)
    refuse("b.columns", sparse::columns_of(factors.b), columns.text());
}

template <class T>
void check_promise(const SparseFactors<T>& factors, const Shape& promised) {
  const std::size_t pairs = sparse::rows_of(factors.a);
  if (pairs > promised.max_pairs)
    refuse("the number of pairs", pairs, "at most the layer's max_pairs = " + std::to_string(promised.max_pairs));
}

template <class T>
void check_finite(const char* what, double value) {
  if (!std::isfinite(static_cast<T>(value)))
    refuse(what, value, "a finite number in " + std::string(name(data_type<T>)));
}

template <class T>
void check_options(const Options& options) {
  check_finite<T>("scale", options.scale);
  for (const auto& [what, value] : {std::pair("alpha", options.alpha), std::pair("beta", options.beta),
                                    std::pair("scale times alpha", options.scale * options.alpha)})
    check_finite<T>(what, value);
  if (options.machine) check_machine(*options.machine);
  if (options.algorithm != "auto") parse_algorithm(options.algorithm, "algorithm", outer_product_algorithms());
  check_wire("wire", options.wire, data_type<T>, "gradients");
  check_wire("factor_wire", options.factor_wire, data_type<T>, "factors");
  outer_product::check_tries(options.tries);
  if (options.tries > 0 && options.algorithm != "auto")
    refuse("tries", options.tries, "0 where an algorithm is named, as " + options.algorithm + " is");
}

template <class T>
void check_apart(const char* result, const MatrixView<T>& view, const SparseFactors<T>& factors) {
  if (overlap<T>(view, factors))
    throw ArgumentError(std::string(result) + " overlaps the factors' range of memory, expected one of its own");
}

/// Throws ArgumentError naming the argument, its value and what was expected. `promised` is the OuterProduct's shape,
/// or null for dsop().
template <class T>
void check_arguments(const SparseFactors<T>& factors, const MatrixView<T>& gradient, const Options& options,
                     const Shape* promised) {
  check_options<T>(options);
  check_view("gradient", gradient);
  check_factors(factors, {"gradient.rows = ", gradient.rows}, {"gradient.columns = ", gradient.columns});
  if (promised != nullptr) {
    if (gradient.rows != promised->rows)
      refuse("gradient.rows", gradient.rows, "the layer's " + std::to_string(promised->rows));
    if (gradient.columns != promised->columns)
      refuse("gradient.columns", gradient.columns, "the layer's " + std::to_string(promised->columns));
    check_promise(factors, *promised);
  }
  check_apart("gradient", gradient, factors);
}

/// The same for the calling rank's `count` rows of a gradient of the promised shape.
template <class T>
void check_sharded_arguments(const SparseFactors<T>& factors, const MatrixView<T>& own_rows, const Options& options,
                             const Shape& promised, std::size_t count) {
  check_options<T>(options);
  check_view("own_rows", own_rows);
  check_factors(factors, {"the layer's rows = ", promised.rows}, {"the layer's columns = ", promised.columns});
  if (own_rows.rows != count)
    refuse("own_rows.rows", own_rows.rows, std::to_string(count) + ", this rank's rows by plan().row_bounds");
  if (own_rows.columns != promised.columns)
    refuse("own_rows.columns", own_rows.columns, "the layer's " + std::to_string(promised.columns));
  check_promise(factors, promised);
  check_apart("own_rows", own_rows, factors);
}

/// The same where there is no gradient.
template <class T>
void check_row_arguments(const SparseFactors<T>& factors, const Options& options, const Shape& promised) {
  check_options<T>(options);
  if (options.beta != 0) refuse("beta", options.beta, "0: the rows are made anew");
  check_factors(factors, {"the layer's rows = ", promised.rows}, {"the layer's columns = ", promised.columns});
  check_promise(factors, promised);
}

template <class T>
void check_shape(const Shape& shape, const Options& options) {
  constexpr std::size_t element_bytes = sizeof(T);
  check_options<T>(options);
  checked_bytes("the gradient", {shape.rows, shape.columns, element_bytes});
  checked_bytes("a", {shape.max_pairs, shape.rows, element_bytes});
  checked_bytes("b", {shape.max_pairs, shape.columns, element_bytes});
  if (shape.expected_pairs > shape.max_pairs)
    refuse("expected_pairs", shape.expected_pairs, "at most max_pairs = " + std::to_string(shape.max_pairs));
  for (const auto& [name, density] : {std::pair("density_a", shape.density_a), std::pair("density_b", shape.density_b)})
    if (!(density >= 0 && density <= 1)) refuse(name, density, "0 to 1");
}

/// The stride of a single row is never used, but OpenBLAS looks at it.
template <class T>
MatrixView<T> with_sane_stride(MatrixView<T> view) {
  if (view.rows <= 1) view.stride = view.columns;
  return view;
}

template <class T>
SparseFactors<T> with_sane_strides(SparseFactors<T> factors) {
  for (FactorView<T>* const factor : {&factors.a, &factors.b})
    if (auto* const dense = std::get_if<MatrixView<const T>>(factor)) *dense = with_sane_stride(*dense);
  return factors;
}

}  // namespace dsop
