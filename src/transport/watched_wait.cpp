#include "transport/watched_wait.hpp"

#include "transport/interrupt.hpp"

namespace dsop {

WatchedWait::WatchedWait(Transport& transport)
    : transport_(transport),
      start_(Clock::now()),
      stall_deadline_(Clock::time_point::max()),
      interrupt_deadline_(has_interrupt_check() ? start_ + interrupt_interval : Clock::time_point::max()) {
  const Clock::duration limit = transport.carried().stall_limit;
  if (limit != Clock::duration::max()) stall_deadline_ = start_ + limit;
}

void WatchedWait::look() {
  const Clock::time_point now = Clock::now();
  if (now >= interrupt_deadline_) {
    interrupt_deadline_ = now + interrupt_interval;
    check_interrupt();
  }
  if (now < stall_deadline_) return;
  stall_deadline_ = Clock::time_point::max();
  transport_.carried().report_stall(transport_, start_);
}

}  // namespace dsop
