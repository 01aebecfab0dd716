// One planned call, the same for every family.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "call/call.hpp"
#include "call/plan_cache.hpp"

namespace dsop {

/// A plan that is kept, and the memory that all ranks have for it.
template <class OfFamily>
struct Planned {
  // Classes have no initializers: g++ destroys the members of such an aggregate twice where one throws.
  OfFamily plan;
  std::string text;                ///< its algorithm, with its parameter
  std::size_t memory_bytes = 0;    ///< of the arena
  std::size_t result_bytes = 0;    ///< of the sum's memory, where the call makes it
  bool packs = false;              ///< factors, for a product
  PredictedCall predicted;         ///< for the log
  std::size_t log_row = SIZE_MAX;  ///< of its calls, once there was one

  bool has(std::size_t memory, std::size_t result) const { return memory <= memory_bytes && result <= result_bytes; }
  /// An eighth more than is needed now, so that numbers which grow a little are not agreed on again.
  void take(std::size_t memory, std::size_t result, std::size_t most_result) {
    memory_bytes = memory + memory / 8;
    result_bytes = std::min(result + result / 8, most_result);
  }
};

/// What an operation keeps from call to call: plans, found by what the ranks say alike. Each of its calls goes one way:
///
///   check    what may be wrong on this rank alone; it also prepares this rank's data and its record
///   say      what all ranks must say alike, the machine last, and what this rank says of itself
///   agree    one exchange
///   plan     the kept one if it serves, else a new one, of what all ranks have said
///   memory   that the plan and the result take
///   run
///
/// Every rank throws, or none. Where all ranks have plan and memory already, the exchange is the only one; else a
/// second one, of a byte, tells whether all could make and take them.
///
/// An Operation gives
///   open(transport)       its Call
///   check(call), say(call)
///   make(call, entry)
///   run(call, entry)
/// and perhaps
///   serves(call, entry)   whether the plan that was found serves, perhaps once it has other numbers; allocates nothing
///   take_result(entry)    memory for the result; before the ranks agree, if there is a plan by then
///   only_plans()          then the log says nothing of it
///   cost(call, entry)     what the log says of such calls, where the plan has no candidates
///   by_numbers            a plan also depends on what each rank says of itself, its Record's numbers. Where a plan for
///                         the same values is kept, each rank makes the new one without a second exchange: then a
///                         rank without memory throws alone
template <class Entry>
class PlannedCalls {
 public:
  explicit PlannedCalls(std::size_t most_plans) : plans_(most_plans) {}

  template <class Operation>
  void run(Transport& transport, Operation&& operation) {
    constexpr bool by_numbers = requires {
      std::remove_reference_t<Operation>::by_numbers;
    };
    Call call = operation.open(transport);
    call.check([&] { operation.check(call); });
    operation.say(call);
    const Entry* before = nullptr;
    if constexpr (!by_numbers) before = plans_.peek(call.key(), call.key_digest());
    call.record().lacks_plan = !by_numbers && before == nullptr;
    if (before != nullptr) call.check([&] { take_result(operation, *before); });
    call.agree();
    log_ = &call.log();
    bool made = false;
    try {
      made = find_or_make(call, operation, by_numbers);
    } catch (...) {  // some ranks may have kept what others have not
      plans_.clear_but(last_);
      throw;
    }
    const auto start = made ? Call::Clock::now() : call.agreed_at();
    {
      const TracedSpan running = call.span(last_->text.c_str());
      operation.run(call, *last_);
    }
    if (is_logged(operation)) call.log_run(last_->log_row, last_->text, last_->predicted, start);
  }

  /// Of the last call; null before any.
  Entry* last() const { return last_; }
  /// What calls like the last took on this rank.
  Measured measured() const {
    return last_->log_row < log_->rows().size() ? log_->rows()[last_->log_row].measured() : Measured();
  }
  /// Of those that were found by such values, whatever the numbers, the last that was used; null if there is none.
  const Entry* latest(std::span<const std::uint64_t> values) const { return plans_.latest(values); }

 private:
  template <class Operation>
  static void take_result(Operation& operation, const Entry& entry) {
    if constexpr (requires { operation.take_result(entry); }) operation.take_result(entry);
  }

  // Returns whether a plan was made, or memory taken.
  template <class Operation>
  bool find_or_make(Call& call, Operation& operation, bool by_numbers) {
    const std::uint64_t digest = by_numbers ? call.add_numbers_to_key() : call.key_digest();
    Entry* entry = plans_.find(call.key(), digest);
    bool serves = entry != nullptr;
    if constexpr (requires { operation.serves(call, *entry); }) serves = serves && operation.serves(call, *entry);
    const bool served = serves;
    const auto make = [&] {
      if (serves) return;
      if (entry == nullptr) {
        Entry made;
        operation.make(call, made);
        entry = &plans_.insert(call.key(), digest, std::move(made));
      } else {
        operation.make(call, *entry);
      }
      entry->predicted = call.as_known(predicted_of(call, operation, *entry));
      take_result(operation, *entry);
      serves = true;
    };
    bool must_agree = call.any([](const Record& record) { return record.lacks_plan != 0; });
    if (!serves && by_numbers) must_agree = plans_.latest(call.key_without_numbers()) == nullptr;
    if (!serves && by_numbers && !must_agree) try {
        make();
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception&) {  // every rank's, which they tell each other below
      }
    const bool takes_memory = !serves || must_agree || call.must_grow(entry->memory_bytes, entry->packs);
    if (takes_memory) {
      const TracedSpan planning = call.span("plan and take memory");
      call.all_or_none([&] {
        make();
        call.grow(entry->memory_bytes, entry->packs);
      });
    }
    last_ = entry;
    return !served || takes_memory;
  }

  template <class Operation>
  static bool is_logged(const Operation& operation) {
    if constexpr (requires { operation.only_plans(); }) return !operation.only_plans();
    return true;
  }

  template <class Operation>
  static PredictedCall predicted_of(const Call& call, const Operation& operation, const Entry& entry) {
    if constexpr (requires { operation.cost(call, entry); }) {
      const Cost cost = operation.cost(call, entry);
      return {cost.seconds(), cost.bytes};
    } else {
      const Candidate& chosen = entry.plan.chosen();
      return {chosen.seconds() - chosen.agreement_seconds, chosen.cost.bytes};
    }
  }

  PlanCache<Entry> plans_;
  Entry* last_ = nullptr;         // in plans_
  const CallLog* log_ = nullptr;  // the communicator's
};

}  // namespace dsop
