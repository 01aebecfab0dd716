#include <catch2/catch.hpp>

#include <sstream>

#include "synchronizer_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("a synchronizer's exact policies give the sum of all forms of gradients") {
  const int P = GENERATE(1, 2, 3, 4, 5, 8);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, check_exact_policies<float>) == "");
  CHECK(failures_on_threads(P, check_exact_policies<double>) == "");
}

TEST_CASE("a synchronizer loses nothing under policies that select, nor when they change") {
  const int P = GENERATE(1, 2, 3, 4, 5, 8);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, check_conservation<float>) == "");
  CHECK(failures_on_threads(P, check_conservation<double>) == "");
}
