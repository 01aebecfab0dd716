#include "call/communicator.hpp"

#include <algorithm>
#include <new>
#include <string>

#include <dsop/errors.hpp>

#include "base/error_of.hpp"
#include "call/report.hpp"

namespace dsop {

// The expected length rises at once and falls by a sixty-fourth a call, so that it fits pairs that change. Where
// nothing rides it falls at once: room that is sent in vain may take longer than the messages that it saves elsewhere.
std::size_t SlotLengths::fallen(std::size_t before_bytes, std::size_t now_bytes) {
  const std::size_t less = with_record((before_bytes - sizeof(Record)) / 64 * 63);
  return less < before_bytes ? std::max(less, now_bytes) : now_bytes;
}

// The one that it has, or one that is free, or else one that another kind of call loses.
SlotLengths::Followed& SlotLengths::place(std::uint64_t digest) {
  std::array<Followed, places>& set = followed_[digest % sets];
  for (const std::uint64_t wanted : {digest, std::uint64_t{0}})
    if (const auto found = std::ranges::find(set, wanted, &Followed::digest); found != set.end()) return *found;
  return set[digest / sets % places];
}

void SlotLengths::learn(std::uint64_t digest, std::size_t piggybacked_bytes, int ranks) {
  const std::size_t of_this_call = fit(piggybacked_bytes, ranks) ? with_record(piggybacked_bytes) : sizeof(Record);
  Followed& before = place(last_);
  const bool piggybacks = of_this_call > sizeof(Record);
  before = {last_, piggybacks && before.digest == last_ ? fallen(before.bytes, of_this_call) : of_this_call};
  const Followed& after = place(digest);
  bytes_ = after.digest == digest ? after.bytes : of_this_call;
  last_ = digest;
}

CommunicatorState::CommunicatorState(Transport& transport)
    : slots(std::max(SlotLengths::most_bytes, static_cast<std::size_t>(transport.size()) * sizeof(Record))),
      records(static_cast<std::size_t>(transport.size())),
      own_machine(transport),
      log(transport.size()),
      trace(Trace::of_environment(transport)) {
  environment_error = error_of([&] { watch_as_environment_says(transport); });
  transport.calls().at_end = [this](Transport& ending) {
    report_at_end(ending, log);
    if (trace) trace->write(ending, ranks.all_trace && ending.calls().failure.empty());
  };
}

void CommunicatorState::grow_arena(std::size_t bytes) {
  try {
    arena.at_least(bytes);
  } catch (const std::bad_alloc&) {
    throw Error("no memory for a workspace of " + std::to_string(bytes) + " bytes");
  }
}

const Machine& planned_machine(Transport& transport, const std::optional<Machine>& given, bool chooses) {
  if (given) return *given;
  const MachineSource& own = attachment<CommunicatorState>(transport).own_machine;
  const DescribedMachine* const choice = chooses ? own.to_choose_by() : nullptr;
  return (choice != nullptr ? *choice : own.unprobed()).machine();
}

SavedMachine machine_to_keep(Transport& transport, const std::optional<Machine>& given) {
  if (given) return {given};
  const MachineSource& own = attachment<CommunicatorState>(transport).own_machine;
  if (!own.is_known()) return {};
  return {own.to_choose_by()->machine(), own.is_measured()};
}

}  // namespace dsop
