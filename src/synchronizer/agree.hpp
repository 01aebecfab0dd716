// What the ranks tell each other for a synchronizer.
#pragma once

#include <string>

#include <dsop/transport.hpp>

#include "call/call.hpp"

namespace dsop::synchronizer {

inline constexpr const char* end_of_step = "the end of a synchronizer's step";

/// While it lives, calls belong to the parameter `name`, or to several that it lists. Errors name it. Ranks that make a
/// call for different parameters disagree.
class OnBehalf {
 public:
  OnBehalf(Transport& transport, const std::string& name) : calls_(transport.calls()) { calls_.parameter = name; }
  OnBehalf(const OnBehalf&) = delete;
  ~OnBehalf() { calls_.parameter.clear(); }

 private:
  CallState& calls_;
};

/// Does nothing if `error` is empty. Else all ranks throw it: this rank here, in place of its call, the others in their
/// next call.
template <class T>
void all_throw_if(Transport& transport, const std::string& error) {
  if (error.empty()) return;
  Call call(transport, end_of_step, 0, 0, data_type<T>);
  call.check([&] { throw ArgumentError(error); });
  call.agree();
}

}  // namespace dsop::synchronizer
