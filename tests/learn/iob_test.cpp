// Reading tagged sentences: good files, and every kind of bad one, all written by the test.
#include "learn/data/iob.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

using dsop::learn::expect_error;
using dsop::learn::read_iob;
using dsop::learn::TemporaryFolder;

namespace {

using namespace std::literals;

struct BadLine {
  std::string_view line;
  std::array<std::string_view, 2> words = {};
};

const std::string first_line = "BOS fly to boston EOS\t O O O B-toloc.city_name atis_flight";
const std::string second_line = "BOS why EOS\tO O atis_abbreviation";

std::string file_of(const std::string& line_end) {
  return first_line + line_end + second_line + line_end;
}

}  // namespace

TEST_CASE("IOB: a good file, plain and gzip'd, with either line end") {
  const TemporaryFolder folder;
  for (const auto& path : {folder.write("plain", file_of("\n")), folder.write("returns", file_of("\r\n")),
                           folder.write_gzipped("packed.gz", file_of("\n"))}) {
    const auto sentences = read_iob(path);
    REQUIRE(sentences.size() == 2);
    CHECK(sentences[0].words == std::vector<std::string>{"BOS", "fly", "to", "boston", "EOS"});
    CHECK(sentences[0].tags == std::vector<std::string>{"O", "O", "O", "B-toloc.city_name"});
    CHECK(sentences[0].intent == "atis_flight");
    CHECK(sentences[1].words.size() == 3);
    CHECK(sentences[1].intent == "atis_abbreviation");
  }
}

TEST_CASE("IOB: a bad line is named, with what it has and what it should have") {
  constexpr BadLine bad_lines[] = {
      {"BOS why EOS", {"0 tabs"}},
      {"BOS why EOS\tO O\tatis_flight", {"2 tabs"}},
      {"", {"0 tabs"}},
      {"EOS\tatis_flight", {"1 words", "at least 2"}},
      {"BOS why EOS\tO atis_flight", {"2 tags", "as many as words, 3"}},
      {"BOS why EOS\tO O O atis_flight", {"4 tags", "as many as words, 3"}},
      {"BOS why EOS\tO X-what atis_flight", {"tag 2 is \"X-what\"", "expected O, B-... or I-..."}},
      {"BOS why EOS\tO B- atis_flight", {"tag 2 is \"B-\""}},
      {"BOS why EOS\tO O O", {"the intent is \"O\""}},
      {"BOS why EOS\tO O atis_flight\r", {"ends in \\r\\n", "expected the same"}},
      {"BOS why\rEOS\tO O atis_flight", {"a \\r within it"}},
      {"BOS why EOS\tO O atis\0flight"sv, {"byte 0"}},
  };
  const TemporaryFolder folder;
  for (const auto& [line, words] : bad_lines) {
    const auto path = folder.write("bad", (first_line + '\n').append(line) + '\n' + second_line + '\n');
    expect_error([&] { read_iob(path); }, path, {words.begin(), words.end()});
    expect_error([&] { read_iob(path); }, path, {"line 2"});
  }
}

TEST_CASE("IOB: a file that is empty, cut off, absent or of another kind") {
  const TemporaryFolder folder;
  const auto expect = [&](const std::filesystem::path& path, const std::vector<std::string>& words) {
    expect_error([&] { read_iob(path); }, path, words);
  };
  expect(folder.write("empty", ""), {"is empty"});
  expect(folder.write("cut", file_of("\n").substr(0, 80)), {"line 2", "cut off"});
  expect(folder.path() / "absent", {"can't be opened", "No such file"});
  expect(folder.path(), {"can't be read", "Is a directory"});
  expect(folder.write("binary", std::string("\x08\0\1\2\n", 5)), {"line 1", "byte 0"});
  expect(folder.write("digits", "12345\n"), {"line 1", "0 tabs"});
  const auto packed = folder.write_gzipped("packed.gz", file_of("\n"));
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 6);
  expect(packed, {"truncated"});
}
