// What a synchronizer keeps from step to step, to a stream and back:
//
//   "dsop synchronizer", version, bytes of an element, ranks, rank, residual_holds_step, the machine that was planned
//   for (as a machine file, or empty), whether a probe has found it, steps, number of parameters;
//   of each parameter: name, rows, columns, policy, elements of the residual, the residual, the algorithm's state,
//   whether it ends its bucket (not in version 4)
//   a hash of all that
#include <functional>
#include <map>

#include <dsop/types.hpp>

#include "base/digest.hpp"
#include "base/error_of.hpp"
#include "base/refuse.hpp"
#include "machine_text.hpp"
#include "synchronizer/checkpoint.hpp"
#include "synchronizer/state.hpp"

namespace dsop {
namespace {

DescribedMachine described(const Machine& machine) {
  DescribedMachine described;
  described.describe(machine);
  return described;
}

using synchronizer::Reader;
using synchronizer::Writer;

constexpr std::string_view kind = "dsop synchronizer";
constexpr std::uint32_t version = 5;

template <class Number>
void expect(Reader& reader, const std::string& what, Number expected) {
  const auto found = reader.number<Number>(what);
  if (found != expected) refuse(what + " in the saved state", found, expected);
}

/// Returns the version.
template <class T>
std::uint32_t read_heading(Reader& reader, const Transport& transport, bool residual_holds_step) {
  std::string found(kind.size(), ' ');
  reader.numbers("its heading", std::span<char>(found));
  if (found != kind) throw ArgumentError("the data are no saved state of a synchronizer");
  const auto found_version = reader.number<std::uint32_t>("the version");
  if (found_version != 4 && found_version != version)
    refuse("the version in the saved state", found_version, "4 or " + std::to_string(version));
  expect<std::uint32_t>(reader, "the number of bytes of an element", sizeof(T));
  expect<std::int32_t>(reader, "the number of ranks", transport.size());
  expect<std::int32_t>(reader, "the rank", transport.rank());
  expect<std::uint32_t>(reader, "residual_holds_step", residual_holds_step);
  return found_version;
}

template <class T>
struct Loaded {
  std::vector<T> residual = {};
  std::function<void()> take_over = {};  ///< the algorithm's state
  bool ends_bucket = false;
};

template <class T>
Loaded<T> read_parameter(Reader& reader, const synchronizer::Parameter<T>& parameter,
                         const synchronizer::StepTerms& terms, std::uint32_t version_of_state) {
  const std::string of = " of parameter " + parameter.name;
  expect<std::uint64_t>(reader, "the number of rows" + of, parameter.shape.rows);
  expect<std::uint64_t>(reader, "the number of columns" + of, parameter.shape.columns);
  Loaded<T> loaded;
  const std::string policy = reader.text("the policy" + of);
  const auto elements = reader.number<std::uint64_t>("the residual" + of);
  if (elements != 0 && elements != parameter.elements())
    refuse("the size of the residual" + of + " in the saved state", elements, parameter.elements());
  loaded.residual.resize(elements);
  reader.numbers("the residual" + of, std::span<T>(loaded.residual));
  const std::string state = reader.text("the algorithm's state" + of);
  if (parameter.policy.kind->selects) loaded.residual.resize(parameter.elements());
  const bool active = policy == parameter.policy.text;
  loaded.take_over = parameter.policy.how->load(parameter, active ? state : "", terms);
  loaded.ends_bucket = version_of_state >= 5 && reader.number<std::uint32_t>("whether it ends its bucket" + of) != 0;
  return loaded;
}

}  // namespace

template <class T>
void Synchronizer<T>::State::save(std::ostream& out) const {
  transport.calls().queue->wait_for_all();
  Writer writer(out);
  writer.numbers(std::span<const char>(kind));
  writer.number(version);
  writer.number(static_cast<std::uint32_t>(sizeof(T)));
  writer.number(static_cast<std::int32_t>(transport.size()));
  writer.number(static_cast<std::int32_t>(transport.rank()));
  writer.number<std::uint32_t>(options.residual_holds_step);
  const auto [machine, is_probed] = machine_to_keep(transport, options.machine);
  writer.text(machine ? machine_text(*machine) : "");
  writer.number<std::uint32_t>(is_probed);
  writer.number(steps);
  writer.number<std::uint64_t>(parameters.size());
  for (const auto& parameter : parameters) {
    writer.text(parameter->name);
    writer.number<std::uint64_t>(parameter->shape.rows);
    writer.number<std::uint64_t>(parameter->shape.columns);
    writer.text(parameter->policy.text);
    writer.number<std::uint64_t>(parameter->residual.size());
    writer.numbers(std::span<const T>(parameter->residual));
    writer.text(parameter->policy.how->save());
    writer.number<std::uint32_t>(parameter->ends_bucket);
  }
  writer.hash();
  out.flush();
  if (!out) throw Error("a synchronizer's state could not be written");
}

// Everything is read and checked before the ranks agree, and nothing is taken over before that.
template <class T>
void Synchronizer<T>::State::load(std::istream& in) {
  make_call(transport, [&] {
    std::map<Parameter*, Loaded<T>> loaded;
    std::uint64_t saved_steps = 0;
    std::optional<Machine> machine;
    std::uint64_t machine_digest = 0;  // of what plans depend on
    bool is_probed = false;
    const std::string error = error_of([&] {
      check_between_steps("load()");
      Reader reader(in);
      const std::uint32_t version_of_state = read_heading<T>(reader, transport, options.residual_holds_step);
      const std::string text = reader.text("the machine");
      if (!text.empty()) machine = machine_of_text(text, "the machine in the saved state");
      if (machine) machine_digest = described(*machine).digest();
      is_probed = reader.number<std::uint32_t>("whether the machine was probed") != 0;
      saved_steps = reader.number<std::uint64_t>("the number of steps");
      expect<std::uint64_t>(reader, "the number of parameters", parameters.size());
      while (loaded.size() < parameters.size()) {
        const std::string name = reader.text("the name of a parameter");
        const auto found = by_name_.find(name);
        if (found == by_name_.end() || loaded.contains(found->second))
          refuse("a parameter in the saved state", name, "each of " + names() + " once");
        loaded[found->second] = read_parameter(reader, *found->second, step_.terms, version_of_state);
      }
      reader.check_hash();
    });
    agree("loading a synchronizer's state", "", error, [&](Call& call) {
      call.same_unplanned("the state's step", saved_steps).same_unplanned("the hash of its machine", machine_digest);
    });
    // Also where the communicator has got a machine since, from another synchronizer's state: these parameters were
    // planned with what it had before.
    if (machine && !has_given_machine_) plan_for(*machine, is_probed);

    for (auto& [parameter, state] : loaded) {
      parameter->residual = std::move(state.residual);
      parameter->ends_bucket = state.ends_bucket;
      state.take_over();
    }
    steps = saved_steps;
  });
}

#define INSTANTIATE(T)                                             \
  template void Synchronizer<T>::State::save(std::ostream&) const; \
  template void Synchronizer<T>::State::load(std::istream&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
