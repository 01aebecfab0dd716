#include "session.hpp"

int main(int argc, char** argv) {
  return dsop::tests::run_tests(argc, argv);
}
