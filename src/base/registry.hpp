// The list of a family's algorithms: explicit and in order, the only place where their names stand together.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/each_type.hpp"
#include "base/never_destroyed.hpp"

namespace dsop {

/// One of a kind, kept to the end of the process.
template <class Algorithm>
class Registry {
 public:
  explicit Registry(std::vector<Algorithm> algorithms) : algorithms_(*never_destroyed(std::move(algorithms))) {}

  auto begin() const { return algorithms_.begin(); }
  auto end() const { return algorithms_.end(); }

  /// Null when there is none of that name, nor one that is also called so.
  const Algorithm* find(std::string_view name) const {
    for (const Algorithm& algorithm : algorithms_) {
      if (algorithm.name == name) return &algorithm;
      if constexpr (requires { algorithm.other_name; })
        if (!name.empty() && algorithm.other_name == name) return &algorithm;
    }
    return nullptr;
  }

  /// "allgather, generalized-rabenseifner, ..."
  std::string names() const {
    std::string list;
    for (const Algorithm& algorithm : algorithms_) {
      if (!list.empty()) list += ", ";
      list += algorithm.name;
    }
    return list;
  }

 private:
  const std::vector<Algorithm>& algorithms_;
};

/// An algorithm's body for each element type, made from one that takes any Call<T>&: [](auto& call) { run(call); }
template <template <class> class Call>
class TypedRun {
 public:
  template <class Generic>
  TypedRun(const Generic& generic) : bodies_(generic) {}

  template <class T>
  void operator()(Call<T>& call) const {
    bodies_.template of<T>()(call);
  }

 private:
  template <class T>
  using Body = void (*)(Call<T>&);

  EachType<Body> bodies_;
};

}  // namespace dsop
