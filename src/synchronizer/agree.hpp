// What the ranks tell each other for a synchronizer.
#pragma once

#include <string>

#include <dsop/transport.hpp>

#include "calls/call.hpp"

namespace dsop::synchronizer {

inline constexpr const char* end_of_step = "the end of a synchronizer's step";

/// While it lives, calls are made for a parameter, or for several whose names stand there: errors name it, and ranks
/// that make them for another disagree.
class OnBehalf {
 public:
  OnBehalf(Transport& transport, const std::string& name) : calls_(transport.calls()) { calls_.parameter = name; }
  OnBehalf(const OnBehalf&) = delete;
  ~OnBehalf() { calls_.parameter.clear(); }

 private:
  CallState& calls_;
};

/// Nothing if `error` is empty; else tells all ranks in place of the call that they, now or later, make, and throws on
/// all.
template <class T>
void fail_on_all(Transport& transport, const std::string& error) {
  if (error.empty()) return;
  Call call(transport, end_of_step, 0, 0, data_type<T>);
  call.check([&] { throw ArgumentError(error); });
  call.agree();
}

}  // namespace dsop::synchronizer
