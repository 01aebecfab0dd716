// The end of a program whose command line CLI11 could not, or need not, turn into a run.
#pragma once

#include <CLI/CLI.hpp>

#include <iostream>
#include <sstream>
#include <string>

#include "launch/launch.hpp"

namespace dsop::launch {

/// Prints help on stdout or what is wrong on stderr, once over all ranks, and returns the program's exit status.
inline int end_of(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream words;
  const int status = app.exit(error, words, words);
  if (status != 0) return refuse_to_run(words.str().substr(0, words.str().find_last_not_of('\n') + 1));
  if (speaks()) std::cout << words.str();
  return 0;
}

}  // namespace dsop::launch
