// dsop-data: makes data for dsop-train of other data.
#include "learn/programs/commands.hpp"

int main(int argc, char** argv) {
  return dsop::learn::run_program("dsop-data", "Makes data for dsop-train of other data.", argc, argv,
                                  dsop::learn::add_hash_trigrams);
}
