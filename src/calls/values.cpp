#include "calls/values.hpp"

#include <sstream>

#include "base/machine_fields.hpp"

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
  std::string numbers;
  for_each_number(*machine,
                  [&](double number_of) { numbers.append(numbers.empty() ? "" : " ").append(exactly(number_of)); });
  if (machine->winners.empty()) return numbers;
  std::uint64_t hash = 0;
  for (const Winner& winner : machine->winners)
    for_each_number(winner, [&](std::uint64_t number_of) { hash = digest(hash, number_of); });
  return numbers.append(" and ")
      .append(exactly(machine->winners.size()))
      .append(" winners, hash ")
      .append(exactly(hash));
}

void NamedValues::say(const char* name, std::string_view text, bool for_plan) {
  add({.name = name, .kind = NamedValue::Kind::text, .number = text.size(), .text = text}, for_plan);
  for (std::size_t c = 0; c < text.size(); c += 8) take_in(eight_characters(text.substr(c)), for_plan);
}

std::string NamedValues::text() const {
  std::string text;
  for (const NamedValue& value : values_) text.append(value.name).append("\t").append(value.shown()).append("\n");
  return text;
}

}  // namespace dsop
