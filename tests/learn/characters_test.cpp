// Reading plain text as numbers.
#include "learn/data/characters.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

using dsop::learn::CharacterText;
using dsop::learn::expect_error;
using dsop::learn::read_characters;
using dsop::learn::TemporaryFolder;

TEST_CASE("characters: an alphabet in rising order, and the text as places in it") {
  const TemporaryFolder folder;
  const CharacterText text = read_characters(folder.write("text", "bab\n\nc"));
  CHECK(text.alphabet == "\nabc");
  CHECK(text.characters == std::vector<std::uint8_t>{2, 1, 2, 0, 0, 3});
  CHECK(read_characters(folder.write("returns", "a\r\nb")).alphabet == "\n\rab");
  CHECK(read_characters(folder.write_gzipped("packed.gz", "\xc3\xa4")).alphabet == "\xa4\xc3");
}

TEST_CASE("characters: all bytes but 0 are an alphabet") {
  std::string bytes = "\r\n";
  for (int c = 1; c < 256; ++c)
    if (c != '\r' && c != '\n') bytes += static_cast<char>(c);
  const TemporaryFolder folder;
  const CharacterText text = read_characters(folder.write("text", bytes));
  CHECK(text.alphabet.size() == 255);
  CHECK(text.characters.back() == 254);
}

TEST_CASE("characters: bad files") {
  const TemporaryFolder folder;
  const auto expect = [&](const std::filesystem::path& path, const std::vector<std::string>& words) {
    expect_error([&] { read_characters(path); }, path, words);
  };
  expect(folder.write("empty", ""), {"is empty"});
  expect(folder.path() / "absent", {"can't be opened"});
  expect(folder.write("mixed", "one\ntwo\r\nthree\n"), {"line 2", "ends in \\r\\n"});
  expect(folder.write("mixed too", "one\r\ntwo\nthree"), {"line 2", "ends in \\n"});
  expect(folder.write("zero", std::string("one\ntw\0", 7)), {"line 2", "byte 0"});
  expect(folder.write("within", "one\rtwo\n"), {"line 1", "a \\r within it"});
}
