#include "transport/stall.hpp"

#include <iomanip>
#include <sstream>

#include "base/rank_list.hpp"
#include "transport/call_state.hpp"

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
