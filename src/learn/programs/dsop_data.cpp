// dsop-data: makes data for dsop-train of other data.
#include <CLI/CLI.hpp>

#include <iostream>

#include "learn/programs/hash_trigrams.hpp"

int main(int argc, char** argv) {
  CLI::App app("Makes data for dsop-train of other data.", "dsop-data");
  app.require_subcommand(0, 1);  // none at all is refused below: then a misspelt one is named
  dsop::learn::add_hash_trigrams(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
  }
  return 1;
}
