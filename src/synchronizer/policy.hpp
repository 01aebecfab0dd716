// What a policy is to a synchronizer, and which there are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dsop/dsop.hpp>
#include <dsop/types.hpp>

#include "algorithms/outer_product/sharing.hpp"
#include "base/each_type.hpp"
#include "base/named.hpp"
#include "base/refuse.hpp"
#include "sparse/vector.hpp"

namespace dsop::synchronizer {

template <class T>
class Parameter;
template <class T>
struct RunningStep;
template <class T>
class Description;

/// What the calls of a step have in common.
struct StepTerms {
  double scale = 1;
  Wire wire = Wire::full;
  std::optional<Machine> machine = std::nullopt;
};

/// What a policy plans for.
struct PolicyTerms {
  Transport& transport;
  const StepTerms& step;
  Machine machine;
  std::size_t bucket_bytes;
  std::size_t most_pairs;  ///< that some rank may give as factors
};

/// How one parameter's gradient is summed. What it keeps from step to step is gone when another policy comes.
template <class T>
class Policy {
 public:
  virtual ~Policy() = default;

  /// Plans for the parameter, and takes what must not fail later. All ranks; throws on all or on none, and changes
  /// nothing of the parameter's.
  virtual void check(Parameter<T>& parameter, const PolicyTerms& terms) = 0;
  /// Starts the calls that sum what was given. Never waits.
  virtual void start(Parameter<T>& parameter, RunningStep<T>& step) = 0;
  /// Sums by itself, in the thread of the step's calls, what is in a bucket of factors that was not summed.
  virtual void sum_alone(Parameter<T>&, Transport&, const StepTerms&) {}
  /// The step that it was started in has ended well on all ranks, or all is to be as before.
  virtual void end_step([[maybe_unused]] bool well) {}
  virtual void describe(const Parameter<T>& parameter, Description<T>& description) const = 0;
  /// What it must know to go on bit by bit, beside the residual; empty: nothing.
  virtual std::string save() const { return ""; }
  /// Reads what save() said; empty: begins anew. Throws if it can't; what it returns then takes the state over, and
  /// throws nothing.
  virtual std::function<void()> load(const Parameter<T>&, const std::string& /*state*/, const StepTerms&) {
    return [] {};
  }

  /// Its calls choose an algorithm by the machine.
  virtual bool chooses() const { return false; }
  /// Whether what is given as factors shares a call with others, and as what.
  virtual outer_product::Shared shared() const { return outer_product::Shared::nothing; }
  /// Its calls travel during backpropagation, whatever SynchronizerOptions::overlap says.
  virtual bool starts_at_once() const { return false; }
};

/// NAME or NAME:ARGUMENT, as the parameter's owner wrote it.
struct PolicyText {
  explicit PolicyText(std::string text)
      : whole(std::move(text)), name(whole.substr(0, whole.find(':'))), has_argument(name.size() < whole.size()) {
    if (has_argument) argument = whole.substr(name.size() + 1);
  }
  std::string whole;
  std::string name;
  bool has_argument;
  std::string argument = {};
};

template <class T>
using MakePolicy = std::function<std::unique_ptr<Policy<T>>(std::type_identity<T>, const PolicyText&, const Shape&)>;

/// A line of the list of policies.
struct PolicyKind {
  std::string form;     ///< as errors and help show it
  std::string example;  ///< a text of that form under which nothing is left out, for tests
  std::function<bool(const PolicyText& text)> takes = {};
  bool selects = false;        ///< a part of the gradient stays behind in a residual
  bool sums = true;            ///< over ranks: all get the same bits
  bool for_f32_alone = false;  ///< made of another type it throws
  /// Throws ArgumentError naming what is wrong with the text, or the shape.
  EachType<MakePolicy> make;
};

/// PolicyKind::make of a class that is made from the text and the shape.
template <template <class> class Of>
EachType<MakePolicy> made_as() {
  return []<class T>(std::type_identity<T>, const PolicyText& text, const Shape& shape) -> std::unique_ptr<Policy<T>> {
    return std::make_unique<Of<T>>(text, shape);
  };
}

/// A line for "NAME" and "NAME:ALGORITHM".
inline PolicyKind kind_named(std::string name, EachType<MakePolicy> make) {
  return {.form = name + "[:ALGORITHM]",
          .example = name,
          .takes = [name](const PolicyText& text) { return text.name == name; },
          .make = std::move(make)};
}

/// All policies of the library, in the order in which they are shown.
const std::vector<PolicyKind>& policy_kinds();
/// "dsop[:ALGORITHM], dense[:ALGORITHM], ...", with those that the program has registered.
std::string policy_forms();
/// Of the library, or registered by the program. Throws ArgumentError if there is none.
const PolicyKind& policy_kind(const PolicyText& text);

/// A policy with its name.
template <class T>
struct NamedPolicy {
  NamedPolicy() = default;
  NamedPolicy(const PolicyText& text_, const Shape& shape) : text(text_.whole), kind(&policy_kind(text_)) {
    const MakePolicy<T>& make = kind->make.template of<T>();
    if (!make) refuse("policy", text, "one that the program has registered for " + std::string(name(data_type<T>)));
    how = make({}, text_, shape);
  }
  bool chooses() const { return how && how->chooses(); }

  std::string text = {};
  const PolicyKind* kind = nullptr;
  std::unique_ptr<Policy<T>> how = {};
};

/// The text's argument, the name of an algorithm in `known`, or "auto" where it has none.
template <class Registry>
std::string algorithm_of(const PolicyText& text, const Registry& known) {
  if (!text.has_argument || text.argument == "auto") return "auto";
  parse_algorithm(text.argument, "the algorithm of policy " + text.whole, known);
  return text.argument;
}

/// What travels with indices must not have too many elements for them.
inline void check_indices(const PolicyText& text, const Shape& shape) {
  const std::size_t elements = shape.rows * shape.columns;
  if (elements > sparse::most_elements)
    refuse("the number of elements under policy " + text.whole, elements,
           "at most " + std::to_string(sparse::most_elements));
}

}  // namespace dsop::synchronizer
