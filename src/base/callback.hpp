// A way to call back that owns nothing and allocates nothing.
#pragma once

#include <concepts>

namespace dsop {

/// Refers to somebody else's function object, which must outlive it. An empty one does nothing when called.
template <class... Arguments>
class Callback {
 public:
  Callback() = default;
  template <class Function>
  requires(!std::same_as<Function, Callback> && std::invocable<const Function&, Arguments...>)
      Callback(const Function& function)
      : function_(&function), call_([](const void* target, Arguments... arguments) {
          (*static_cast<const Function*>(target))(arguments...);
        }) {}

  explicit operator bool() const { return call_ != nullptr; }

  void operator()(Arguments... arguments) const {
    if (call_ != nullptr) call_(function_, arguments...);
  }

 private:
  const void* function_ = nullptr;
  void (*call_)(const void*, Arguments...) = nullptr;
};

}  // namespace dsop
