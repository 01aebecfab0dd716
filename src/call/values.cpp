#include "call/values.hpp"

#include <sstream>

#include "machine/machine_fields.hpp"

namespace dsop {
namespace {

template <class Number>
std::string exactly(Number number) {
  std::ostringstream text;
  text.precision(17);
  text << number;
  return text.str();
}

// Visits the numbers of a Level, or of a Machine without its inner levels.
template <class Owner, class Visit>
void for_each_own_number(const Owner& owner, const Visit& visit) {
  for (const NumberField<Owner>& field : number_fields<Owner>) visit(owner.*field.value);
  for (const StepField<Owner>& field : step_fields<Owner>)
    for (const double seconds : owner.*field.seconds) visit(seconds);
}

template <class Visit>
void for_each_number(const Machine& machine, const Visit& visit) {
  for_each_own_number(machine, visit);
  visit(machine.measured_on.ranks);
  visit(machine.measured_on.hidden_share_spread);
  for (const Level& level : machine.inner_levels) {
    visit(level.nodes);
    for_each_own_number(level, visit);
  }
}

// Tells two winners apart. The algorithm's name enters as a hash.
template <class Visit>
void for_each_number(const Winner& winner, const Visit& visit) {
  for (const std::uint64_t number :
       {std::uint64_t{winner.rows}, std::uint64_t{winner.columns}, std::uint64_t{winner.pairs},
        static_cast<std::uint64_t>(winner.ranks), static_cast<std::uint64_t>(winner.type), digest(0, winner.algorithm)})
    visit(number);
}

void append_line(std::string& text, const std::string& name, const std::string& value) {
  text.append(name).append("\t").append(value).append("\n");
}

template <class Owner>
void append_own_lines(std::string& text, const std::string& prefix, const Owner& owner) {
  for (const NumberField<Owner>& field : number_fields<Owner>)
    append_line(text, prefix + std::string(field.name), exactly(owner.*field.value));
  for (const StepField<Owner>& field : step_fields<Owner>)
    for (std::size_t i = 0; i < step_bytes.size(); ++i)
      append_line(text, prefix + std::string(field.name) + '[' + exactly(i) + ']', exactly((owner.*field.seconds)[i]));
}

// The name and value of each number of a machine, as its file calls it.
void append_lines(std::string& text, const std::string& name, const Machine& machine) {
  append_own_lines(text, name + '.', machine);
  append_line(text, name + ".measured_on.ranks", exactly(machine.measured_on.ranks));
  append_line(text, name + ".measured_on.hidden_share_spread", exactly(machine.measured_on.hidden_share_spread));
  append_line(text, name + ".inner_levels", exactly(machine.inner_levels.size()));
  for (std::size_t l = 0; l < machine.inner_levels.size(); ++l) {
    const std::string level = name + ".inner_levels[" + exactly(l) + "].";
    append_line(text, level + "nodes", exactly(machine.inner_levels[l].nodes));
    append_own_lines(text, level, machine.inner_levels[l]);
  }
  std::uint64_t hash = 0;
  for (const Winner& winner : machine.winners)
    for_each_number(winner, [&](std::uint64_t number) { hash = digest(hash, number); });
  append_line(text, name + ".winners", exactly(machine.winners.size()) + " winners, hash " + exactly(hash));
}

}  // namespace

void DescribedMachine::describe(const Machine& machine) {
  machine_ = machine;
  numbers_.clear();
  for_each_number(machine, [&](double number) { numbers_.push_back(std::bit_cast<std::uint64_t>(number)); });
  for (const Winner& winner : machine.winners)
    for_each_number(winner, [&](std::uint64_t number) { numbers_.push_back(number); });
  digest_ = numbers_.size();
  for (const std::uint64_t number : numbers_) digest_ = dsop::digest(digest_, number);
}

std::string NamedValue::shown() const {
  if (kind == Kind::whole) return exactly(number);
  if (kind == Kind::real) return exactly(std::bit_cast<double>(number));
  if (kind == Kind::truth) return number != 0 ? "true" : "false";
  if (kind == Kind::text) return std::string(text);
  return "described";  // its numbers have lines of their own
}

void NamedValues::say(const char* name, std::string_view text, bool for_plan) {
  add({.name = name, .kind = NamedValue::Kind::text, .number = text.size(), .text = text}, for_plan);
  for (std::size_t c = 0; c < text.size(); c += 8) take_in(eight_characters(text.substr(c)), for_plan);
}

std::string NamedValues::text() const {
  std::string text;
  for (const NamedValue& value : values_) {
    append_line(text, value.name, value.shown());
    if (value.machine != nullptr) append_lines(text, value.name, *value.machine);
  }
  return text;
}

}  // namespace dsop
