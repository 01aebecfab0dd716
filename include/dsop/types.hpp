// The types that elements of matrices and vectors may have. This list is the only one: DataType, the names and every
// explicit instantiation are made from it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string_view>

// Calls use(T, id, ...) for each type.
// clang-format off
#define DSOP_LIST_ELEMENT_TYPES(use, ...) \
  use(float, f32, __VA_ARGS__) \
  use(double, f64, __VA_ARGS__)
// clang-format on

/// Calls use(T) for each type, for example to instantiate a template:
///   #define INSTANTIATE(T) template class Optimizer<T>;
///   DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
#define DSOP_FOR_ELEMENT_TYPES(use) DSOP_LIST_ELEMENT_TYPES(DSOP_USE_TYPE, use)
#define DSOP_USE_TYPE(T, id, use) use(T)

namespace dsop {

#define DSOP_ENUMERATOR(T, id, ...) id,
#define DSOP_VALUE(T, id, ...) DataType::id,
enum class DataType : unsigned char { DSOP_LIST_ELEMENT_TYPES(DSOP_ENUMERATOR, ) };
inline constexpr std::array data_types{DSOP_LIST_ELEMENT_TYPES(DSOP_VALUE, )};
#undef DSOP_ENUMERATOR
#undef DSOP_VALUE

/// Of the types of the list; of all others there is none.
template <class T>
struct ElementType;
#define DSOP_ELEMENT_TYPE(T, id, ...)               \
  template <>                                       \
  struct ElementType<T> {                           \
    static constexpr DataType value = DataType::id; \
    static constexpr std::string_view name = #id;   \
  };
DSOP_LIST_ELEMENT_TYPES(DSOP_ELEMENT_TYPE, )
#undef DSOP_ELEMENT_TYPE

template <class T>
inline constexpr DataType data_type = ElementType<T>::value;

/// Calls body(T{}), where T is the type that `type` stands for, and returns what it returns:
///   visit(type, []<class T>(T) { return sizeof(T); })
template <class Body>
constexpr decltype(auto) visit(DataType type, Body&& body) {
  switch (type) {
#define DSOP_CASE(T, id, ...) \
  case DataType::id:          \
    return body(T{});
    DSOP_LIST_ELEMENT_TYPES(DSOP_CASE, )
#undef DSOP_CASE
  }
  throw std::invalid_argument("a DataType that is not in the list");
}

constexpr std::size_t bytes_of(DataType type) {
  return visit(type, []<class T>(T) { return sizeof(T); });
}

constexpr std::string_view name(DataType type) {
  return visit(type, []<class T>(T) { return ElementType<T>::name; });
}

/// The type of that name, if there is one.
constexpr std::optional<DataType> data_type_named(std::string_view text) {
  for (const DataType type : data_types)
    if (name(type) == text) return type;
  return std::nullopt;
}

}  // namespace dsop
