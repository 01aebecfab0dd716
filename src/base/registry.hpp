// The list of a family's algorithms: explicit and in order, the only place where their names stand together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dsop {

template <class Algorithm>
class Registry {
 public:
  explicit Registry(std::vector<Algorithm> algorithms) : algorithms_(std::move(algorithms)) {}

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
  std::vector<Algorithm> algorithms_;
};

/// An algorithm's body for both data types: one template, instantiated twice.
template <template <class> class Call>
struct TypedRun {
  void (*f32)(Call<float>&);
  void (*f64)(Call<double>&);

  void operator()(Call<float>& call) const { f32(call); }
  void operator()(Call<double>& call) const { f64(call); }
};

}  // namespace dsop
