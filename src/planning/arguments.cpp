#include "planning/arguments.hpp"

#include <cmath>
#include <cstdint>
#include <sstream>

#include "model/checked.hpp"
#include "outer_product/algorithm.hpp"

namespace dsop {
namespace {

template <class Value, class Expected>
[[noreturn]] void refuse(const std::string& argument, const Value& value, const Expected& expected) {
  std::ostringstream text;
  text << argument << " is " << value << ", expected " << expected;
  throw ArgumentError(text.str());
}

template <class T>
void check_view(const std::string& argument, const MatrixView<T>& view) {
  if (view.rows > 1 && view.stride < view.columns)
    refuse(argument + ".stride", view.stride, "at least " + argument + ".columns = " + std::to_string(view.columns));
  if (view.rows > 0 && view.columns > 0) {
    if (view.data == nullptr) refuse(argument + ".data", "null", "memory for its elements");
    checked_bytes(argument, {view.rows, std::max(view.stride, view.columns), sizeof(T)});
  }
}

template <class T>
bool overlap(const MatrixView<const T>& left, const MatrixView<const T>& right) {
  if (left.rows == 0 || right.rows == 0 || left.columns == 0 || right.columns == 0) return false;
  const auto first = [](const auto& view) { return reinterpret_cast<std::uintptr_t>(view.data); };
  const auto last = [](const auto& view) {
    return reinterpret_cast<std::uintptr_t>(view.row(view.rows - 1) + view.columns - 1);
  };
  return first(left) <= last(right) && first(right) <= last(left);
}

template <class T>
void check_options(const Options& options) {
  if (!std::isfinite(static_cast<T>(options.scale)))
    refuse("scale", options.scale, "a finite number in " + std::string(name(data_type<T>)));
  if (options.machine) check_machine(*options.machine);
  if (options.algorithm != "auto") parse_algorithm(options.algorithm);
}

}  // namespace

template <class T>
void check_arguments(const Factors<T>& factors, const MatrixView<T>& gradient, const Options& options,
                     const Shape* promised) {
  check_options<T>(options);
  check_view("gradient", gradient);
  check_view("a", factors.a);
  check_view("b", factors.b);
  if (factors.a.rows != factors.b.rows)
    refuse("b.rows", factors.b.rows, "a.rows = " + std::to_string(factors.a.rows) + " (one of each a pair)");
  if (factors.a.rows > 0) {
    if (factors.a.columns != gradient.rows)
      refuse("a.columns", factors.a.columns, "gradient.rows = " + std::to_string(gradient.rows));
    if (factors.b.columns != gradient.columns)
      refuse("b.columns", factors.b.columns, "gradient.columns = " + std::to_string(gradient.columns));
  }
  if (promised != nullptr) {
    if (gradient.rows != promised->rows)
      refuse("gradient.rows", gradient.rows, "the layer's " + std::to_string(promised->rows));
    if (gradient.columns != promised->columns)
      refuse("gradient.columns", gradient.columns, "the layer's " + std::to_string(promised->columns));
    if (factors.a.rows > promised->max_pairs)
      refuse("the number of pairs", factors.a.rows,
             "at most the layer's max_pairs = " + std::to_string(promised->max_pairs));
  }
  if (overlap<T>(gradient, factors.a) || overlap<T>(gradient, factors.b))
    throw ArgumentError("gradient overlaps the factors' range of memory, expected one of its own");
}

template <class T>
void check_shape(const Shape& shape, const Options& options) {
  constexpr std::size_t element_bytes = sizeof(T);
  check_options<T>(options);
  checked_bytes("the gradient", {shape.rows, shape.columns, element_bytes});
  checked_bytes("a", {shape.max_pairs, shape.rows, element_bytes});
  checked_bytes("b", {shape.max_pairs, shape.columns, element_bytes});
}

template void check_arguments(const Factors<float>&, const MatrixView<float>&, const Options&, const Shape*);
template void check_arguments(const Factors<double>&, const MatrixView<double>&, const Options&, const Shape*);

template void check_shape<float>(const Shape&, const Options&);
template void check_shape<double>(const Shape&, const Options&);

}  // namespace dsop
