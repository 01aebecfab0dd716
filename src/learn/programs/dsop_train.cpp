// dsop-train: trains models over several ranks.
#include <CLI/CLI.hpp>

#include <iostream>

#include "launch/launch.hpp"
#include "learn/programs/linear.hpp"
#include "learn/programs/lstm.hpp"
#include "learn/programs/mlp.hpp"

int main(int argc, char** argv) {
  int status = 0;
  CLI::App app(
      "Trains models over several ranks: under mpirun MPI's, otherwise threads of this process.\n"
      "Tables go to stdout, words to stderr.",
      "dsop-train");
  app.require_subcommand(0, 1);  // none at all is refused below: then a misspelt one is named
  dsop::learn::add_linear(app, status);
  dsop::learn::add_lstm(app, status);
  dsop::learn::add_mlp(app, status);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
    return status;
  } catch (const CLI::ParseError& error) {
    if (!dsop::launch::speaks()) return error.get_exit_code();
    return app.exit(error);
  } catch (const std::exception& error) {
    if (dsop::launch::speaks()) std::cerr << "error: " << error.what() << '\n';
  }
  return 1;
}
