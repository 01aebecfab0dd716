// What there is one of for each element type.
#pragma once

#include <tuple>
#include <variant>

#include <dsop/types.hpp>

namespace dsop {

/// std::tuple<float, double>
#define DSOP_TUPLE_OF_ONE(T) std::tuple<T>(),
using ElementTypes = decltype(std::tuple_cat(DSOP_FOR_ELEMENT_TYPES(DSOP_TUPLE_OF_ONE) std::tuple<>()));
#undef DSOP_TUPLE_OF_ONE

template <template <class> class Of, class Types = ElementTypes>
class EachType;

/// An Of<T> for each element type T.
template <template <class> class Of, class... Types>
class EachType<Of, std::tuple<Types...>> {
 public:
  EachType() = default;
  /// Each made from `generic`.
  template <class Generic>
  EachType(const Generic& generic) : each_(Of<Types>(generic)...) {}

  template <class T>
  Of<T>& of() {
    return std::get<Of<T>>(each_);
  }
  template <class T>
  const Of<T>& of() const {
    return std::get<Of<T>>(each_);
  }

 private:
  std::tuple<Of<Types>...> each_;
};

// Declared for their types alone.
template <template <class> class Of, class... Types>
std::tuple<Of<Types>...> tuple_of(const std::tuple<Types...>&);
template <class... Each>
std::variant<Each...> one_of(const std::tuple<Each...>&);

/// One Of<T>, of whichever template and element type T.
template <template <class> class... Of>
using AnyType = decltype(one_of(std::tuple_cat(tuple_of<Of>(ElementTypes())...)));

}  // namespace dsop
