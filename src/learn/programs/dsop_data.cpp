// dsop-data: makes data for dsop-train of other data.
#include <CLI/CLI.hpp>

#include "launch/command_line.hpp"
#include "launch/file_size_signal.hpp"
#include "learn/programs/hash_trigrams.hpp"
#include "learn/version.hpp"

int main(int argc, char** argv) {
  dsop::launch::ignore_file_size_signal();
  dsop::launch::keep_standard_descriptors();
  int status = 0;
  CLI::App app("Makes data for dsop-train of other data.", "dsop-data");
  app.set_version_flag("--version", dsop::learn::version);
  app.require_subcommand(0, 1);  // none at all is refused below: then a misspelt one is named
  dsop::learn::add_hash_trigrams(app, status);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
    return status;
  } catch (const CLI::ParseError& error) {
    return dsop::launch::end_of(app, error);
  } catch (const std::exception& error) {
    return dsop::launch::refuse_to_run(error.what());
  }
}
