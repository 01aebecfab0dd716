// What messages show of texts of files and arguments.
#include <catch2/catch.hpp>

#include <string>

#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "base/refuse.hpp"
#include "base/shown.hpp"

using namespace dsop;

TEST_CASE("messages: control characters and what is no UTF-8 are escaped, other characters stay") {
  const std::string good = "gr\xc3\xb6\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x98\x80 ~";
  CHECK(shown(good) == good);
  CHECK(shown("\x1b[31m\r\n\t\x7f") == "\\x1b[31m\\x0d\\x0a\\x09\\x7f");
  CHECK(shown("\xc2\x9b\xff\xc3|\xe2\x82|\xc0\x80\xf5") == "\\xc2\\x9b\\xff\\xc3|\\xe2\\x82|\\xc0\\x80\\xf5");
  CHECK(shown(std::string(1, '\0')) == "\\x00");
  CHECK(shown("") == "");
  CHECK(printable_lines("one\n\ttwo\x1b") == "one\n\ttwo\\x1b");
}

TEST_CASE("messages: long values are cut off") {
  CHECK(shown(std::string(200, 'x')) == std::string(200, 'x'));
  CHECK(shown(std::string(6'000'000, 'x')) == std::string(200, 'x') + "...");
  CHECK(in_quotes(std::string(41, 'x')) == '"' + std::string(40, 'x') + "\"...");
  const auto refused = [] { refuse("policy", std::string(1'000'000, '\x1b'), "another"); };
  std::string escapes;
  for (int i = 0; i < 200; ++i) escapes += "\\x1b";
  CHECK_THROWS_WITH(refused(), "policy is " + escapes + "..., expected another");
}

TEST_CASE("JSON: what is no UTF-8 is replaced, never refused") {
  const nlohmann::ordered_json json{{"path", "a\xff"}, {"host\xfe", 1}};
  CHECK(json_text(json) == "{\"path\":\"a\xef\xbf\xbd\",\"host\xef\xbf\xbd\":1}");
}

TEST_CASE("JSON: a text with very many levels is refused, whatever they are made of") {
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    std::string levels, ends;
    for (int level = 0; level < 100'000; ++level) levels += open, ends += close;
    CHECK_THROWS_WITH(parsed_json(levels + "1" + ends), "is nested in more than 16 levels");
    CHECK_THROWS_WITH(parsed_json(levels), "is nested in more than 16 levels");
  }
  CHECK(parsed_json("[[[1]]]")[0][0][0] == 1);
}

TEST_CASE("JSON: what is wrong with a text is said in few words, without the parser's own") {
  CHECK_THROWS_WITH(parsed_json("{"), Catch::Matchers::StartsWith("not JSON: parse error at line 1, column 2"));
  const auto error_of_long = [] { parsed_json("{\"" + std::string(1'000'000, 'x')); };
  try {
    error_of_long();
    FAIL("read it");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).size() < 400);
  }
}
