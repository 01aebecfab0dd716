// A synchronizer's parameters, and the step that is under way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/refuse.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/buckets.hpp"
#include "synchronizer/memory_ranges.hpp"
#include "synchronizer/parameter.hpp"
#include "synchronizer/step_calls.hpp"

namespace dsop {

template <class T>
struct Synchronizer<T>::State {
  using Parameter = synchronizer::Parameter<T>;
  using Given = synchronizer::Given<T>;

  State(Transport& transport_, const SynchronizerOptions& options_);

  void add(const std::string& name, const Shape& shape, const std::string& policy, const BiasOf& bias_of);
  void set_policy(const std::string& name, const std::string& policy);

  void begin(const Step& step);
  void give(const std::string& name, Given given);
  void fail(const std::string& name, const std::string& error);
  void finish();

  std::string describe() const;
  void save(std::ostream& out) const;
  void load(std::istream& in);

  std::string names() const {
    std::string names;
    for (const auto& parameter : parameters) names.append(names.empty() ? "" : ", ").append(parameter->name);
    return names;
  }
  /// Throws ArgumentError if there is none.
  Parameter& find(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end())
      refuse("name", name, parameters.empty() ? "one that add() has registered; there is none" : "one of " + names());
    return *found->second;
  }
  /// Throws ArgumentError naming `call` within a step.
  void check_between_steps(const std::string& call) const {
    if (has_begun_) throw ArgumentError(call + " stands within a step, expected before begin() or after finish()");
  }

  Transport& transport;
  SynchronizerOptions options;
  std::uint64_t object = 0;                                 ///< the number of the call that made this synchronizer
  bool runs_at_finish = false;                              ///< some rank's transport allows no thread
  std::vector<std::unique_ptr<Parameter>> parameters = {};  ///< in the order of their registration
  std::vector<Parameter*> order = {};                       ///< as they were given in this step, or the last
  std::uint64_t steps = 0;                                  ///< that have ended well

 private:
  template <class Say>
  std::size_t agree(const char* operation, std::string subject, std::string error, const Say& say,
                    bool chooses = false);
  void take_deferred_error(std::string& subject, std::string& error);
  synchronizer::PolicyTerms terms(std::size_t most_pairs) {
    return {transport, step_.terms, planned_machine(transport, options.machine), options.bucket_bytes, most_pairs};
  }
  Parameter* weight_of(const BiasOf& bias_of, const Shape& shape) const;
  void plan_for(const Machine& machine, bool is_probed);
  void take_policy(Parameter& parameter, synchronizer::NamedPolicy<T> policy, std::size_t most_pairs);
  void check_given(const Parameter& parameter, const Given& given) const;
  void check_apart(const Given& given) const;
  void tell_failure(std::string subject, std::string error);
  void end_step();

  /// What was wrong with a call outside a step, for the ranks' next agreement.
  struct DeferredError {
    std::string subject;
    std::string error;
  };

  /// Texts of a step's end, which stay while its order does.
  struct StepNames {
    StepNames() = default;
    explicit StepNames(const std::vector<Parameter*>& given) : order(given) {
      for (const Parameter* const parameter : given) {
        names.append(names.empty() ? "" : ", ").append(parameter->name);
        alphas.push_back("alpha of " + parameter->name);
        betas.push_back("beta of " + parameter->name);
      }
    }

    std::vector<Parameter*> order = {};
    std::string names = {};
    std::vector<std::string> alphas = {};
    std::vector<std::string> betas = {};
  };

  StepNames step_names_;
  bool has_given_machine_;  // its maker has, so that no saved one takes its place
  std::map<std::string, Parameter*> by_name_;
  bool has_begun_ = false;
  bool is_interrupted_ = false;
  std::optional<DeferredError> deferred_error_;
  synchronizer::MemoryRanges targets_;  // of this step, by places in `order`
  synchronizer::MemoryRanges owns_;     // of what they are made from
  synchronizer::RunningStep<T> step_;
  synchronizer::StepCalls calls_;  // last: its end waits for what uses the rest
};

/// The ranks agree on `operation`, of which `say(call)` says what all must say alike; where something is chosen by it,
/// the machine is known then. Returns the most pairs that a rank says. An error within a step ends it: the other ranks
/// have heard it in place of the step's next call.
template <class T>
template <class Say>
std::size_t Synchronizer<T>::State::agree(const char* operation, std::string subject, std::string error, const Say& say,
                                          bool chooses) {
  take_deferred_error(subject, error);
  const synchronizer::OnBehalf on_behalf(transport, subject);
  Call call(transport, operation, 0, 0, data_type<T>, object);
  call.check([&] {
    if (!error.empty()) throw ArgumentError(error);
  });
  say(call);
  call.same("wire", options.wire).same_machine(options.machine, chooses);
  try {
    call.agree();
  } catch (...) {
    if (has_begun_) calls_.fail(std::current_exception());
    throw;
  }
  runs_at_finish = !call.ranks().all_allow_progress_thread;
  std::size_t most_pairs = 0;
  for (const Record& record : call.records()) most_pairs = std::max<std::size_t>(most_pairs, record.pairs);
  return most_pairs;
}

}  // namespace dsop
