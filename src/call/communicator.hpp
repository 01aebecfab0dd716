// What calls keep with a communicator.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <dsop/transport.hpp>

#include "call/call_log.hpp"
#include "call/call_state.hpp"
#include "call/capabilities.hpp"
#include "call/own_machine.hpp"
#include "call/record.hpp"
#include "call/trace.hpp"
#include "call/values.hpp"
#include "memory/workspace.hpp"

namespace dsop {

/// The length of the next exchange's slots. For each kind of call it remembers how much room the call after it needed
/// last time. It depends only on calls that all ranks agreed on, so it is the same on all ranks.
class SlotLengths {
 public:
  /// Factors ride only if the slots of all ranks together take at most so many bytes.
  static constexpr std::size_t most_bytes = 64 << 10;

  /// A slot's length if it has room for so many bytes of factors.
  static std::size_t with_record(std::size_t piggybacked_bytes) {
    constexpr std::size_t alignment = alignof(std::max_align_t);
    return sizeof(Record) + (std::min(piggybacked_bytes, most_bytes) + alignment - 1) / alignment * alignment;
  }
  /// Whether so many bytes of each rank's factors may ride.
  static bool fit(std::size_t piggybacked_bytes, int ranks) {
    return static_cast<std::size_t>(ranks) * with_record(piggybacked_bytes) <= most_bytes;
  }

  /// The length of the next call's slots.
  std::size_t bytes() const { return bytes_; }
  /// The ranks have agreed on a call with this digest, in which each rank has at most `piggybacked_bytes` of small
  /// factors.
  void learn(std::uint64_t digest, std::size_t piggybacked_bytes, int ranks);
  /// A call has failed.
  void forget() {
    bytes_ = sizeof(Record);
    last_ = 0;
  }

 private:
  struct Followed {
    std::uint64_t digest = 0;
    std::size_t bytes = sizeof(Record);
  };
  static constexpr std::size_t sets = 32;  // a digest's kind may stand in any place of its set
  static constexpr std::size_t places = 8;

  static std::size_t fallen(std::size_t before_bytes, std::size_t now_bytes);
  Followed& place(std::uint64_t digest);

  std::size_t bytes_ = sizeof(Record);
  std::uint64_t last_ = 0;  // the last call's digest
  // By digest: the slots of the call that came after it.
  std::array<std::array<Followed, places>, sets> followed_{};
};

/// All ranks are known to have memory in which products pack their factors. That memory belongs to a thread, the
/// program's or the progress thread, and its size depends on the number of threads that a product uses.
struct PackMemory {
  std::uint64_t threads = 0;             ///< digest of each rank's
  std::uint64_t on_progress_thread = 0;  ///< digest of which ranks were
  DataType type{};

  bool same_kind(const PackMemory& other) const {
    return type == other.type && on_progress_thread == other.on_progress_thread;
  }
  bool operator==(const PackMemory&) const = default;
};

struct CommunicatorState {
  explicit CommunicatorState(Transport& transport);

  /// Throws Error if there is no memory, and then has none.
  void grow_arena(std::size_t bytes);
  /// Some rank may have less memory than was agreed on.
  void forget_memory() {
    arena_bytes = 0;
    pack_memory.clear();
  }

  Capabilities ranks;
  SlotLengths slot_lengths;
  std::vector<std::byte> slots;    ///< of all ranks, this rank's first
  std::vector<Record> records;     ///< of the last call
  std::vector<NamedValue> values;  ///< that the last call's ranks had to say alike
  std::vector<std::uint64_t> key;  ///< of the last call
  MachineSource own_machine;
  DescribedMachine given_machine;       ///< the last that a caller gave
  Workspace<std::byte> arena;           ///< that all calls work in, one after the other
  std::size_t arena_bytes = 0;          ///< that all ranks are known to have
  std::vector<PackMemory> pack_memory;  ///< one of a kind
  CallLog log;
  std::unique_ptr<Trace> trace;                    ///< usually null
  double last_wait_seconds = 0;                    ///< in the last call's agreement; 0: there was none
  const Plan& (*last_plan)(Transport&) = nullptr;  ///< of dsop()
  std::string environment_error = {};              ///< with which every call is refused; usually empty
};

/// What calls keep with a communicator, an object of each type; made on first use, as State(transport) if it can be.
template <class State>
State& attachment(Transport& transport) {
  static constexpr char identity = 0;
  auto& all = transport.calls().kept;
  for (const auto& [type, state] : all)
    if (type == &identity) return *static_cast<State*>(state.get());
  all.reserve(all.size() + 1);  // so that a state which is made is kept, and what refers to it holds
  std::shared_ptr<State> state;
  if constexpr (std::is_constructible_v<State, Transport&>)
    state = std::make_shared<State>(transport);
  else
    state = std::make_shared<State>();
  all.emplace_back(&identity, state);
  return *state;
}

}  // namespace dsop
