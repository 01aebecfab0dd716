// What all ranks must say alike in a call: named values, their digest, and their texts where they differ.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>

#include "base/digest.hpp"

namespace dsop {

/// A machine, and all of it that plans depend on as numbers that can be compared.
class DescribedMachine {
 public:
  void describe(const Machine& machine);

  const Machine& machine() const { return machine_; }
  std::span<const std::uint64_t> numbers() const { return numbers_; }
  std::uint64_t digest() const { return digest_; }

 private:
  Machine machine_;
  std::vector<std::uint64_t> numbers_;
  std::uint64_t digest_ = 0;
};

/// A value with the name by which errors call it. Texts and machines stay the caller's.
struct NamedValue {
  enum class Kind : unsigned char { whole, real, text, truth, machine };

  const char* name = "";
  Kind kind = Kind::whole;
  std::uint64_t number = 0;
  std::string_view text = {};
  const Machine* machine = nullptr;

  /// As errors show it, exactly.
  std::string shown() const;
};

/// The values of one call, in the order in which they were said.
class NamedValues {
 public:
  /// Takes values into the digest; those that a plan depends on into the key of kept plans too. Both vectors are the
  /// communicator's, so that a call allocates nothing.
  NamedValues(std::vector<NamedValue>& values, std::vector<std::uint64_t>& key) : values_(values), key_(key) {
    values_.clear();
    key_.clear();
  }

  template <std::integral Number>
  void say(const char* name, Number number, bool for_plan) {
    add({.name = name,
         .kind = std::same_as<Number, bool> ? NamedValue::Kind::truth : NamedValue::Kind::whole,
         .number = static_cast<std::uint64_t>(number)},
        for_plan);
  }
  void say(const char* name, double number, bool for_plan) {
    add({.name = name, .kind = NamedValue::Kind::real, .number = std::bit_cast<std::uint64_t>(number)}, for_plan);
  }
  void say(const char* name, std::string_view text, bool for_plan);
  void say(const char* name, DataType type, bool for_plan) { say(name, dsop::name(type), for_plan); }
  void say(const char* name, Wire wire, bool for_plan) { say(name, dsop::name(wire), for_plan); }
  void say(const char* name, const DescribedMachine& machine) {
    add({.name = name, .kind = NamedValue::Kind::machine, .number = machine.digest(), .machine = &machine.machine()},
        true);
    key_.insert(key_.end(), machine.numbers().begin(), machine.numbers().end());
  }

  std::uint64_t digest() const { return dsop::digest(of_plan_.value(), of_others_.value()); }
  /// The digest of the values that plans depend on.
  const SequenceDigest& plan_digest() const { return of_plan_; }
  /// A line each, for the other ranks: name, tabulator, value. Of a machine also each of its numbers.
  std::string text() const;

 private:
  void add(const NamedValue& value, bool for_plan) {
    values_.push_back(value);
    take_in(value.number, for_plan);
  }
  void take_in(std::uint64_t number, bool for_plan) {
    (for_plan ? of_plan_ : of_others_).take(number);
    if (for_plan) key_.push_back(number);
  }

  std::vector<NamedValue>& values_;
  SequenceDigest of_plan_;
  SequenceDigest of_others_;
  std::vector<std::uint64_t>& key_;
};

}  // namespace dsop
