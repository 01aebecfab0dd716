// Catch2 version 3 as version 2: its one header and its names. Included where version 3 is installed.
#pragma once

#include <string>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_session.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace Catch {
namespace Matchers {

inline auto Contains(const std::string& part) {
  return ContainsSubstring(part);
}

}  // namespace Matchers
using namespace Matchers;
}  // namespace Catch
using Catch::Approx;
