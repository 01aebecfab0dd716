// What can be wrong with one rank's arguments. Each check throws ArgumentError naming the argument, its value and what
// was expected.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include <dsop/dsop.hpp>

#include "algorithms/outer_product/operation.hpp"
#include "base/check_aligned.hpp"
#include "base/check_wire.hpp"
#include "base/checked.hpp"
#include "base/refuse.hpp"
#include "patterns/blocks.hpp"
#include "sparse/arguments.hpp"
#include "sparse/overlap.hpp"

namespace dsop {

template <class T>
void check_view(const char* argument, const MatrixView<T>& view) {
  const std::string name = argument;
  if (view.rows > 1 && view.stride < view.columns)
    refuse(name + ".stride", view.stride, "at least " + name + ".columns = " + std::to_string(view.columns));
  if (view.rows == 0 || view.columns == 0) return;
  if (view.data == nullptr) refuse(name + ".data", "null", "memory for its elements");
  check_aligned(view.data, argument, ".data");
  checked_bytes(argument, {view.rows, std::max(view.stride, view.columns), sizeof(T)});
}

/// `whose` rows and columns a pair of factors must have.
template <class T>
void check_factors(const SparseFactors<T>& factors, const char* whose, std::size_t rows, std::size_t columns) {
  std::visit([](const auto& a) { check_view("a", a); }, factors.a);
  std::visit([](const auto& b) { check_view("b", b); }, factors.b);
  const std::size_t pairs = sparse::rows_of(factors.a);
  if (pairs != sparse::rows_of(factors.b))
    refuse("b.rows", sparse::rows_of(factors.b), "a.rows = " + std::to_string(pairs) + " (one of each a pair)");
  if (pairs == 0) return;
  const auto check = [&](const char* argument, std::size_t given, const char* what, std::size_t expected) {
    if (given != expected) refuse(argument, given, std::string(whose) + what + std::to_string(expected));
  };
  check("a.columns", sparse::columns_of(factors.a), "rows = ", rows);
  check("b.columns", sparse::columns_of(factors.b), "columns = ", columns);
}

template <class T>
void check_pairs(const SparseFactors<T>& factors, const Shape& promised) {
  if (const std::size_t pairs = sparse::rows_of(factors.a); pairs > promised.max_pairs)
    refuse("the number of pairs", pairs, "at most the layer's max_pairs = " + std::to_string(promised.max_pairs));
}

template <class T>
void check_apart(const char* result, const MatrixView<T>& view, const SparseFactors<T>& factors) {
  if (overlap<T>(view, factors))
    throw ArgumentError(std::string(result) + " overlaps the factors' range of memory, expected one of its own");
}

template <class T>
void check_sum(const SumTerms& sum) {
  for (const auto& [what, value] : {std::pair("scale", sum.scale), std::pair("alpha", sum.alpha),
                                    std::pair("beta", sum.beta), std::pair("scale times alpha", sum.scale * sum.alpha)})
    if (!std::isfinite(static_cast<T>(value)))
      refuse(what, value, "a finite number in " + std::string(name(data_type<T>)));
}

template <class T>
void check_terms(const OuterProductTerms& terms) {
  check_sum<T>(terms.sum);
  if (terms.machine) check_machine(*terms.machine);
  if (terms.algorithm != "auto") parse_algorithm(terms.algorithm, "algorithm", outer_product_algorithms());
  check_wire("wire", terms.sum.wire, data_type<T>, "gradients");
  check_wire("factor_wire", terms.factor_wire, data_type<T>, "factors");
}

/// `promised` is the layer's shape, or null for dsop().
template <class T>
void check_arguments(const SparseFactors<T>& factors, const MatrixView<T>& gradient, const Shape* promised) {
  check_view("gradient", gradient);
  check_factors(factors, "gradient.", gradient.rows, gradient.columns);
  if (promised != nullptr) {
    if (gradient.rows != promised->rows)
      refuse("gradient.rows", gradient.rows, "the layer's " + std::to_string(promised->rows));
    if (gradient.columns != promised->columns)
      refuse("gradient.columns", gradient.columns, "the layer's " + std::to_string(promised->columns));
    check_pairs(factors, *promised);
  }
  check_apart("gradient", gradient, factors);
}

/// The same of a call that is to leave more than a plan.
template <class T>
void check_arguments(const OuterProductArguments<T>& given, const Transport& transport) {
  const auto& [output, terms, promised, factors, result] = given;
  if (output == Output::whole) {
    check_arguments(factors, result, promised);
    return;
  }
  if (output == Output::nonzero_rows && terms.sum.beta != 0)
    refuse("beta", terms.sum.beta, "0: the rows are made anew");
  if (output == Output::own_rows) check_view("own_rows", result);
  check_factors(factors, "the layer's ", promised->rows, promised->columns);
  check_pairs(factors, *promised);
  if (output == Output::nonzero_rows) return;
  const std::size_t own_rows = patterns::Blocks(promised->rows, transport.size()).size(transport.rank());
  if (result.rows != own_rows)
    refuse("own_rows.rows", result.rows, std::to_string(own_rows) + ", this rank's rows by plan().row_bounds");
  if (result.columns != promised->columns)
    refuse("own_rows.columns", result.columns, "the layer's " + std::to_string(promised->columns));
  check_apart("own_rows", result, factors);
}

template <class T>
void check_shape(const Shape& shape) {
  checked_bytes("the gradient", {shape.rows, shape.columns, sizeof(T)});
  checked_bytes("a", {shape.max_pairs, shape.rows, sizeof(T)});
  checked_bytes("b", {shape.max_pairs, shape.columns, sizeof(T)});
  if (shape.expected_pairs > shape.max_pairs)
    refuse("expected_pairs", shape.expected_pairs, "at most max_pairs = " + std::to_string(shape.max_pairs));
  for (const auto& [name, density] : {std::pair("density_a", shape.density_a), std::pair("density_b", shape.density_b)})
    if (!(density >= 0 && density <= 1)) refuse(name, density, "0 to 1");
}

/// The stride of a single row is never used, but OpenBLAS looks at it.
template <class T>
MatrixView<T> with_canonical_stride(MatrixView<T> view) {
  if (view.rows <= 1) view.stride = view.columns;
  return view;
}

}  // namespace dsop
