#include "transport/stall.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include <dsop/errors.hpp>

#include "base/rank_list.hpp"
#include "transport/call_state.hpp"
#include "transport/interrupt.hpp"

namespace dsop {

namespace {

std::string with_shape(const std::string& operation, std::size_t rows, std::size_t columns, DataType type) {
  if (rows == 0 && columns == 0) return operation;
  return operation + ' ' + std::to_string(rows) + " x " + std::to_string(columns) + ' ' + std::string(name(type));
}

}  // namespace

std::string WatchedCall::text() const {
  return "call " + std::to_string((position + 1) / 2) + ", " + with_shape(operation, rows, columns, type);
}

std::string Stall::text() const {
  std::ostringstream text;
  text << with_shape(operation, rows, columns, type) << ", after " << call << " calls: rank " << rank << " has waited "
       << std::fixed << std::setprecision(1) << waited_seconds << " s; ";
  if (missing_ranks.empty())
    text << "all ranks have come";
  else
    text << "missing: " << list_ranks(missing_ranks);
  return text.str();
}

WithinCall::WithinCall(Transport& transport, const char* operation, std::size_t rows, std::size_t columns,
                       DataType type)
    : transport_(transport) {
  CallState& calls = transport.calls();
  WatchedCall& call = calls.watched;
  call.position = 2 * calls.calls + 1;
  call.operation = operation;
  call.rows = rows;
  call.columns = columns;
  call.type = type;
  transport.come_to(call.position);
}

WithinCall::~WithinCall() {
  WatchedCall& call = transport_.calls().watched;
  ++call.position;
  transport_.come_to(call.position);
}

WithinPart::WithinPart(Transport& transport, const char* operation)
    : call_(transport.calls().watched), operation_(call_.operation), rows_(call_.rows), columns_(call_.columns) {
  call_.position = 2 * transport.calls().calls++ + 1;
  call_.operation = operation;
  call_.rows = call_.columns = 0;
  transport.come_to(call_.position);
}

WithinPart::~WithinPart() {
  call_.operation = operation_;
  call_.rows = rows_;
  call_.columns = columns_;
}

WatchedWait::WatchedWait(Transport& transport)
    : transport_(transport),
      call_(transport.calls().watched),
      start_(Clock::now()),
      stall_deadline_(Clock::time_point::max()),
      interrupt_deadline_(has_interrupt_check() ? start_ + interrupt_interval : Clock::time_point::max()) {
  const StallWatch& watch = call_.watch;
  constexpr double for_ever_seconds = 1e9;
  if ((watch.on_stall || watch.throws) && watch.limit_seconds > 0 && watch.limit_seconds < for_ever_seconds)
    stall_deadline_ =
        start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(watch.limit_seconds));
}

void WatchedWait::look() {
  const Clock::time_point now = Clock::now();
  if (now >= interrupt_deadline_) {
    interrupt_deadline_ = now + interrupt_interval;
    check_interrupt();
  }
  if (now >= stall_deadline_) report();
}

void WatchedWait::report() {
  stall_deadline_ = Clock::time_point::max();
  const StallWatch& watch = call_.watch;
  const bool within = call_.position % 2 == 1;
  Stall stall{.operation = within ? call_.operation : "messages between calls",
              .rows = within ? call_.rows : 0,
              .columns = within ? call_.columns : 0,
              .type = call_.type,
              .call = call_.position / 2,
              .rank = transport_.rank()};
  stall.missing_ranks = transport_.ranks_behind(call_.position, std::max(0.1, watch.limit_seconds / 10));
  stall.waited_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  try {
    if (watch.on_stall) watch.on_stall(stall);
  } catch (...) {  // whatever it is, the other ranks do not throw it
    transport_.calls().fail_with_caught();
    throw;
  }
  if (watch.throws) throw TransportError(stall.text());
}

}  // namespace dsop
