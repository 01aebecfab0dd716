#include "calls/communicator.hpp"

#include <algorithm>
#include <new>
#include <string>

#include <dsop/errors.hpp>

namespace dsop {

void SlotLengths::learn(std::uint64_t digest, std::size_t ridden_bytes, int ranks) {
  const std::size_t of_this_call = fit(ridden_bytes, ranks) ? with_record(ridden_bytes) : sizeof(Record);
  place(last_) = {last_, of_this_call};
  const Followed& after = place(digest);
  bytes_ = after.digest == digest ? after.bytes : of_this_call;
  last_ = digest;
}

CommunicatorState::CommunicatorState(Transport& transport)
    : slots(std::max(SlotLengths::most_bytes, static_cast<std::size_t>(transport.size()) * sizeof(Record))),
      records(static_cast<std::size_t>(transport.size())) {
  default_machine.describe(transport.default_machine());
}

void CommunicatorState::grow_arena(std::size_t bytes) {
  try {
    arena.at_least(bytes);
  } catch (const std::bad_alloc&) {
    throw Error("no memory for a workspace of " + std::to_string(bytes) + " bytes");
  }
}

}  // namespace dsop
