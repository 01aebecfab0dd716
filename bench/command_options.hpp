// What several commands of dsop-bench have in common.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "base/data_type_names.hpp"
#include "lists.hpp"
#include "timing.hpp"

namespace dsop::bench {

/// An option whose text `read` takes, first that of the default. What it throws ends the program.
template <class Read>
CLI::Option* add_parsed(CLI::App* command, const std::string& option, const std::string& default_text,
                        const std::string& description, Read read) {
  read(default_text);
  return command->add_option_function<std::string>(option, read, description)->default_str(default_text);
}

inline CLI::Option* add_numbers(CLI::App* command, const std::string& option, const std::string& default_text,
                                std::vector<std::size_t>& numbers, const std::string& description) {
  return add_parsed(command, option, default_text, description,
                    [&numbers, option](const std::string& text) { numbers = parse_numbers(option, text); });
}

inline void add_names(CLI::App* command, const std::string& default_text, std::vector<std::string>& names,
                      const std::string& description) {
  add_parsed(command, "--algorithm", default_text, description,
             [&names](const std::string& text) { names = split_names(text); });
}

/// The lists of shapes on a command line.
struct ShapeLists {
  std::vector<std::size_t> rows;
  std::vector<std::size_t> columns;  // empty: as rows
  std::vector<std::size_t> pairs;
  std::vector<std::pair<std::size_t, std::size_t>> layers;  // empty: rows and columns hold

  void add_to(CLI::App* command) {
    CLI::Option* const n = add_numbers(command, "--rows", "1000,2000,4000", rows, "Rows n: a list, or first:last:step");
    CLI::Option* const m =
        add_parsed(command, "--cols", "same", "Columns m: same, or a list", [this](const std::string& text) {
          columns = text == "same" ? std::vector<std::size_t>() : parse_numbers("--cols", text);
        });
    command
        ->add_option_function<std::string>(
            "--layers", [this](const std::string& text) { layers = parse_layers("--layers", text); },
            "Instead: the shapes of a model's layers, as 1024x2048,2048x100")
        ->excludes(n, m);
    add_numbers(command, "--pairs", "1", pairs, "Pairs a rank: a list");
  }

  std::vector<Point> points(Densities densities = {}) const {
    std::vector<std::pair<std::size_t, std::size_t>> shapes = layers;
    for (const std::size_t n : layers.empty() ? rows : std::vector<std::size_t>())
      for (const std::size_t m : columns.empty() ? std::vector{n} : columns) shapes.emplace_back(n, m);
    std::vector<Point> points;
    for (const auto& [n, m] : shapes)
      for (const std::size_t k : pairs) points.push_back({n, m, k, densities});
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
