// One call, whatever its operation: what is checked, what all ranks agree on, and the memory that they then work in.
//
//   Call call(transport, "allreduce", n, 1, DataType::f32)  counts it and names it for the stall watch
//   call.check([&] { ... });                                     keeps this rank's own error
//   call.same("algorithm", name).same("root", root);             what all must say alike
//   call.record().pairs = k;                                     what may differ: a few numbers
//   call.agree();                                                one exchange; every rank throws, or none
//
// call/planned.hpp says how calls of all families go on from there: a plan, memory for it, the algorithm.
//
// The exchange is a Bruck allgather of equal slots, each with a Record and room for small factors. How large slots are
// follows from earlier calls' records, never from this call's arguments, so that ranks that disagree, or fail, still
// send messages of equal length.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dsop/product_method.hpp>
#include <dsop/transport.hpp>

#include "base/error_of.hpp"
#include "call/communicator.hpp"
#include "call/record.hpp"
#include "call/stall.hpp"
#include "call/values.hpp"
#include "patterns/agreed_errors.hpp"

namespace dsop {

class Call {
 public:
  using Clock = std::chrono::steady_clock;

  /// A stall's report shows `operation`, `rows` and `columns`. `object` is the number of the call that made the object
  /// whose call this is; 0: a function's call.
  Call(Transport& transport, const char* operation, std::size_t rows, std::size_t columns, DataType type,
       std::uint64_t object = 0);
  Call(const Call&) = delete;
  ~Call();

  /// Keeps the first error as this rank's, for agree().
  template <class Check>
  void check(const Check& check) {
    if (has_error()) return;
    try {
      check();
    } catch (const std::exception&) {
      error_ = text_of_caught();
    }
  }
  bool has_error() const { return !error_.empty(); }

  /// All ranks must say the same, and plans depend on it. `name` is what an error calls it.
  template <class Value>
  Call& same(const char* name, const Value& value) {
    check([&] { values_.say(name, value, true); });
    return *this;
  }
  /// All ranks must say the same; no plan depends on it.
  template <class Value>
  Call& same_unplanned(const char* name, const Value& value) {
    check([&] { values_.say(name, value, false); });
    return *this;
  }
  /// The machine to plan for: the given one, or the communicator's own. If the call `chooses` an algorithm by that and
  /// it is still unknown, agree() measures it, and then adds it to the key. So a call must say its machine last.
  Call& same_machine(const std::optional<Machine>& given, bool chooses);
  /// What this rank says of itself.
  Record& record() { return own_; }

  /// Memory for `bytes` of this rank's factors, behind its record. Empty if the slot is too short; else the record says
  /// that they ride.
  std::span<std::byte> piggyback(std::size_t bytes);

  /// Exchanges the records, and measures the machine if that is still to be done. Throws AgreedError on every rank if
  /// one has an error or ranks disagree.
  void agree();

  /// After agree().
  std::span<const Record> records() const { return communicator_.records; }
  template <class Has>
  bool any(const Has& has) const {
    return std::any_of(records().begin(), records().end(), has);
  }
  /// Whether every rank's factors came with its record. Rank r's are then the first bytes of piggybacked(r).
  bool all_piggyback() const { return all_piggyback_; }
  std::span<const std::byte> piggybacked(int rank) const;
  /// Counts `bytes` of what this rank sent to agree as payload, since the call uses them.
  void count_piggybacked(std::size_t bytes) const { transport_.calls().piggybacked_bytes += bytes; }
  /// In a call like this one a rank has at most `bytes` of factors. Later slots may have room for them.
  void expect_piggyback(std::size_t bytes) { expected_piggyback_bytes_ = bytes; }

  /// After agree(); from the second call on before it too.
  const Capabilities& ranks() const { return communicator_.ranks; }
  /// How to compute a product that several ranks compute.
  ProductMethod shared_method() const;
  const Machine& machine() const { return machine_->machine(); }
  /// All values that plans depend on.
  const std::vector<std::uint64_t>& key() const { return communicator_.key; }
  std::uint64_t key_digest() const { return values_.plan_digest().value(); }
  /// Adds the numbers of all ranks, which may differ, to the key. Returns its digest with them. Allocates nothing.
  std::uint64_t add_numbers_to_key();
  /// The key as it was before.
  std::span<const std::uint64_t> key_without_numbers() const { return std::span(communicator_.key).first(key_length_); }

  /// Runs `take()`, in which ranks plan and take memory. Costs an exchange of a byte. Throws AgreedError on all ranks
  /// if it throws on one.
  template <class Take>
  void all_or_none(const Take& take) {
    try {
      agree_on_errors(transport_, error_of(take));
    } catch (const AgreedError&) {
      communicator_.forget_memory();
      throw;
    }
  }
  /// When it had agreed.
  Clock::time_point agreed_at() const { return agreed_at_; }
  CallLog& log() const { return communicator_.log; }
  /// What the log says of a prediction: nothing by a machine that was to be measured and was not.
  PredictedCall as_known(PredictedCall predicted) const;
  /// Says in the log what this call took from `start` on, by an algorithm. `row` is where calls like it stand, or most:
  /// not known yet. Throws nothing: where there is no memory the log says nothing.
  void log_run(std::size_t& row, const std::string& algorithm, const PredictedCall& predicted,
               Clock::time_point start) const noexcept;
  /// Whether some rank may have less than `bytes` of memory, or none in which a product `packs`: then all ranks grow()
  /// all_or_none(). All ranks give the same numbers.
  bool must_grow(std::size_t bytes, bool packs = false) const {
    return bytes > communicator_.arena_bytes || (packs && !has_pack_memory());
  }
  /// Takes it. Throws Error if there is none.
  void grow(std::size_t bytes, bool packs = false);
  /// The arena's memory, which has so many bytes.
  std::span<std::byte> memory(std::size_t bytes) const { return communicator_.arena.elements().first(bytes); }

  Transport& transport() const { return transport_; }
  /// What the call does while that lives, for a trace.
  TracedSpan span(const char* name) { return {traced_ ? &*traced_ : nullptr, name}; }

 private:
  PackMemory pack_memory() const;
  bool has_pack_memory() const;
  void measure_machine();
  const Machine& machine_of_pieces() const;
  [[noreturn]] void throw_error();

  Transport& traced(Transport& transport, const char* operation);

  CommunicatorState& communicator_;
  std::optional<TracedCall> traced_;
  Transport& transport_;
  WithinCall within_call_;
  DataType type_;
  std::uint64_t object_;
  NamedValues values_;
  const DescribedMachine* machine_;  // null: agree() will measure it
  Record own_;
  std::string error_;
  std::size_t slot_bytes_ = 0;  // of this call's exchange
  std::size_t key_length_ = 0;  // without numbers
  std::size_t expected_piggyback_bytes_ = 0;
  Clock::time_point agreed_at_ = {};
  bool asks_environment_ = false;
  bool agreed_ = false;
  bool all_piggyback_ = false;
};

/// What `make()` returns, which this rank needs before it makes a call. If it has no memory for it, all ranks throw:
/// this one here, the others in their calls.
template <class Make>
decltype(auto) make_for_call(Transport& transport, const Make& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    Call call(transport, "making what a call needs", 0, 0, DataType::f32);
    call.check([] { throw std::bad_alloc(); });
    call.agree();
    throw;
  }
}

/// attachment<Calls>(transport), for a call of theirs.
template <class Calls>
Calls& calls_of(Transport& transport) {
  return make_for_call(transport, [&]() -> Calls& { return attachment<Calls>(transport); });
}

}  // namespace dsop
