#include "call/stall.hpp"

#include <algorithm>
#include <iomanip>
#include <new>
#include <sstream>

#include <dsop/errors.hpp>

#include "base/error_of.hpp"
#include "base/rank_list.hpp"
#include "call/call_state.hpp"

namespace dsop {

namespace {

std::string with_shape(const std::string& operation, std::size_t rows, std::size_t columns, DataType type) {
  if (rows == 0 && columns == 0) return operation;
  return operation + ' ' + std::to_string(rows) + " x " + std::to_string(columns) + ' ' + std::string(name(type));
}

void come_to(Transport& transport, std::uint64_t position) {
  transport.calls().position = position;
  transport.come_to(position);
}

}  // namespace

std::string WatchedCall::text() const {
  return with_shape(operation, rows, columns, type);
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

std::shared_ptr<CarriedCalls> make_carried_calls() {
  return std::make_shared<CallState>();
}

CallState& Transport::calls() {
  return static_cast<CallState&>(carried());
}

std::string CallState::text() const {
  return "call " + std::to_string((position + 1) / 2) + ", " + watched.text();
}

void CallState::fail_with_caught() noexcept {
  if (!failure.empty()) return;
  try {
    std::string caught = "an exception of an unknown type";
    try {
      throw;
    } catch (const std::exception&) {
      caught = text_of_caught();
    } catch (...) {
    }
    failure = "this communicator has failed in " + text() + ": " + caught + "; expected a new one";
  } catch (const std::bad_alloc&) {
    failure = "has failed";  // as long as takes no memory
  }
}

void CallState::report_stall(Transport& transport, Clock::time_point start) {
  const bool within = position % 2 == 1;
  Stall stall{.operation = within ? watched.operation : "messages between calls",
              .rows = within ? watched.rows : 0,
              .columns = within ? watched.columns : 0,
              .type = watched.type,
              .call = position / 2,
              .rank = transport.rank()};
  stall.missing_ranks = transport.ranks_behind(position, std::max(0.1, watch.limit_seconds / 10));
  stall.waited_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  try {
    if (watch.on_stall) watch.on_stall(stall);
  } catch (...) {  // whatever it is, the other ranks do not throw it
    fail_with_caught();
    throw;
  }
  if (watch.throws) throw TransportError(stall.text());
}

WithinCall::WithinCall(Transport& transport, const char* operation, std::size_t rows, std::size_t columns,
                       DataType type)
    : transport_(transport) {
  CallState& calls = transport.calls();
  calls.watched = {operation, rows, columns, type};
  come_to(transport, 2 * calls.calls + 1);
}

WithinCall::~WithinCall() {
  come_to(transport_, transport_.calls().position + 1);
}

WithinPart::WithinPart(Transport& transport, const char* operation) : calls_(transport.calls()), call_(calls_.watched) {
  calls_.watched = {.operation = operation, .type = call_.type};
  come_to(transport, 2 * calls_.calls++ + 1);
}

WithinPart::~WithinPart() {
  calls_.watched = call_;
}

}  // namespace dsop
