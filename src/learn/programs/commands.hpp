// The commands of dsop-train and dsop-data.
#pragma once

#include <CLI/CLI.hpp>

#include "launch/command_line.hpp"
#include "launch/file_size_signal.hpp"
#include "learn/version.hpp"

namespace dsop::learn {

/// Each adds a command, which sets `status` to the program's exit status when it has run.
void add_linear(CLI::App& app, int& status);
void add_lstm(CLI::App& app, int& status);
void add_mlp(CLI::App& app, int& status);
/// Labelled texts as libsvm samples.
void add_hash_trigrams(CLI::App& app, int& status);

/// A program of the commands that `add(app, status)` adds. Returns its exit status.
template <class Add>
int run_program(const char* name, const char* help, int argc, char** argv, const Add& add) {
  launch::ignore_file_size_signal();
  launch::keep_standard_descriptors();
  int status = 0;
  CLI::App app(help, name);
  app.set_version_flag("--version", version);
  app.require_subcommand(0, 1);  // none at all is refused below: then a misspelt one is named
  add(app, status);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
  } catch (const CLI::ParseError& error) {
    return launch::end_of(app, error);
  } catch (const std::exception& error) {
    return launch::refuse_to_run(error.what());
  }
  return launch::status_with_output(status);
}

}  // namespace dsop::learn
