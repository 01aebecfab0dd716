// What several commands of dsop-bench have in common.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "base/data_type_names.hpp"
#include "lists.hpp"
#include "timing.hpp"

namespace dsop::bench {

/// The lists of shapes on a command line.
struct ShapeLists {
  std::string rows = "1000,2000,4000";
  std::string columns = "same";
  std::string pairs = "1";

  void add_to(CLI::App* command) {
    command->add_option("--rows", rows, "Rows n: a list, or first:last:step")->capture_default_str();
    command->add_option("--cols", columns, "Columns m: same, or a list")->capture_default_str();
    command->add_option("--pairs", pairs, "Pairs a rank: a list")->capture_default_str();
  }

  /// Throws Error naming an option that can't be read.
  std::vector<Point> points(Densities densities = {}) const {
    const std::vector<std::size_t> all_rows = parse_numbers("--rows", rows),
                                   all_pairs = parse_numbers("--pairs", pairs);
    const std::vector<std::size_t> all_columns =
        columns == "same" ? std::vector<std::size_t>() : parse_numbers("--cols", columns);
    std::vector<Point> points;
    for (const std::size_t n : all_rows)
      for (const std::size_t m : columns == "same" ? std::vector{n} : all_columns)
        for (const std::size_t k : all_pairs) points.push_back({n, m, k, densities});
    return points;
  }
};

inline void add_dtype(CLI::App* command, DataType& type) {
  const auto set = [&type](const std::string& given) { type = *data_type_named(given); };
  command->add_option_function<std::string>("--dtype", set, one_of(data_type_names()))
      ->check(CLI::IsMember(data_type_names()))
      ->default_str(std::string(name(type)));
}

inline void add_type(CLI::App* command, DataType& type, Protocol& protocol) {
  add_dtype(command, type);
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
