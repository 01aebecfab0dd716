// dsop-train: trains models over several ranks.
#include "learn/programs/commands.hpp"

int main(int argc, char** argv) {
  return dsop::learn::run_program("dsop-train",
                                  "Trains models over several ranks: under mpirun MPI's, otherwise threads of this "
                                  "process.\nTables go to stdout, words to stderr.",
                                  argc, argv, [](CLI::App& app, int& status) {
                                    dsop::learn::add_linear(app, status);
                                    dsop::learn::add_lstm(app, status);
                                    dsop::learn::add_mlp(app, status);
                                  });
}
