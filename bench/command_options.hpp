// What several commands of dsop-bench have in common.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/data_type_names.hpp"
#include "lists.hpp"
#include "timing.hpp"

namespace dsop::bench {

inline void add_type(CLI::App* command, DataType& type, Protocol& protocol) {
  const auto set = [&type](const std::string& given) { type = *data_type_named(given); };
  command->add_option_function<std::string>("--dtype", set, one_of(data_type_names()))
      ->check(CLI::IsMember(data_type_names()))
      ->default_str(std::string(name(type)));
  command->add_option("--iterations", protocol.iterations, "Timed calls of each, one more is dropped")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
}

inline void add_protocol(CLI::App* command, Protocol& protocol, bool& verify, std::string& out) {
  command->add_option("--repetitions", protocol.repetitions, "Of all iterations; the median of each counts")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      ->add_option("--first-repetition", protocol.first_repetition,
                   "The first repetition's number, where other runs make those before it")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command->add_option("--precision", protocol.precision, "Ends a repetition when all medians are known to so much: 5%")
      ->transform(CLI::Validator(percentage, "PERCENT"));
  command->add_flag("--verify", verify, "Compare every element on every rank with a plain sum");
  command->add_option("--out", out, "Append one JSON object a row to this file");
}

}  // namespace dsop::bench
