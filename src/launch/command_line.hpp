// What CLI11 leaves to do: options whose two values have names, and the end of a program whose command line could not,
// or need not, be turned into a run.
#pragma once

#include <CLI/CLI.hpp>

#include <iostream>
#include <sstream>
#include <string>

#include "launch/launch.hpp"

namespace dsop::launch {

/// An option that takes the name() of `value`, the default, or of `other`, which it then sets `value` to.
template <class Value>
CLI::Option* add_choice(CLI::App* command, const char* option, Value& value, Value other, const char* help) {
  const std::string first(name(value)), second(name(other));
  const auto set = [&value, other, second](const std::string& given) {
    if (given == second) value = other;
  };
  return command->add_option_function<std::string>(option, set, help)
      ->check(CLI::IsMember({first, second}))
      ->default_str(first);
}

inline std::string known_transport(const std::string& name) {
  if (name == "gloo") return "gloo is not there any more, expected tcp, which takes the same options";
  return name == "tcp" ? "" : name + " is no transport, expected tcp";
}

/// --ranks, and what names this process among ranks over TCP.
inline void add_ranks(CLI::App* command, RankOptions& options) {
  CLI::Option* const ranks =
      command->add_option("--ranks", options.ranks,
                          "Ranks as threads (default 4); under mpirun, MPI's own number; over TCP, how many there are");
  ranks->check(CLI::Range(1, 1024));
  CLI::Option* const transport = command->add_option(
      "--transport", options.transport, "tcp: this process is one rank of --ranks, which find each other in --store");
  CLI::Option* const store =
      command->add_option("--store", options.store, "file:PATH, a file that all ranks over TCP see");
  CLI::Option* const rank =
      command->add_option("--rank", options.rank,
                          "Of this process, over TCP; without it and --ranks as RANK and WORLD_SIZE, or Slurm, say");
  transport->check(known_transport, "")->needs(store);
  store->needs(transport);
  rank->check(CLI::Range(0, 1023))->needs(transport);
}

/// The exit status of a program that would end with `status`, but for a table that could not be written.
inline int status_with_output(int status) {
  if (status != 0 || std::cout.flush()) return status;
  std::cerr << "error: standard output can't be written\n";
  return 1;
}

/// Prints help on stdout or what is wrong on stderr, once over all ranks, and returns the program's exit status.
inline int end_of(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream words;
  const int status = app.exit(error, words, words);
  if (status != 0) return refuse_to_run(words.str().substr(0, words.str().find_last_not_of('\n') + 1));
  if (is_reporting_process()) std::cout << words.str();
  return status_with_output(0);
}

}  // namespace dsop::launch
