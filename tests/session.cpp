#define CATCH_CONFIG_RUNNER
#include "session.hpp"

#include <catch2/catch.hpp>

int dsop::tests::run_tests(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}
