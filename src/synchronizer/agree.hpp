// What the ranks tell each other for a synchronizer.
#pragma once

#include <string>

#include <dsop/transport.hpp>

#include "calls/header.hpp"
#include "calls/terms.hpp"
#include "transport/call_state.hpp"

namespace dsop::synchronizer {

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
  const WithinCall within_call(transport, Operation::end_step, 0, 0, data_type<T>);
  std::vector<Header> headers;
  exchange_headers(transport, make_header(transport, 0, Operation::end_step, {}), error, headers);
}

}  // namespace dsop::synchronizer
