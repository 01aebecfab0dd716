// Catch2's own code, which takes long to compile, once for all test programs.
#pragma once

namespace dsop::tests {

/// Runs the tests that the arguments choose; the program's exit status.
int run_tests(int argc, char** argv);

}  // namespace dsop::tests
