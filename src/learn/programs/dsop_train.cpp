// dsop-train: trains models over several ranks.
#include <CLI/CLI.hpp>

#include "launch/command_line.hpp"
#include "launch/file_size_signal.hpp"
#include "learn/programs/linear.hpp"
#include "learn/programs/lstm.hpp"
#include "learn/programs/mlp.hpp"
#include "learn/version.hpp"

int main(int argc, char** argv) {
  dsop::launch::ignore_file_size_signal();
  dsop::launch::keep_standard_descriptors();
  int status = 0;
  CLI::App app(
      "Trains models over several ranks: under mpirun MPI's, otherwise threads of this process.\n"
      "Tables go to stdout, words to stderr.",
      "dsop-train");
  app.set_version_flag("--version", dsop::learn::version);
  app.require_subcommand(0, 1);  // none at all is refused below: then a misspelt one is named
  dsop::learn::add_linear(app, status);
  dsop::learn::add_lstm(app, status);
  dsop::learn::add_mlp(app, status);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
  } catch (const CLI::ParseError& error) {
    return dsop::launch::end_of(app, error);
  } catch (const std::exception& error) {
    return dsop::launch::refuse_to_run(error.what());
  }
  return dsop::launch::status_with_output(status);
}
