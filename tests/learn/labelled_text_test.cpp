// Reading labelled texts in either encoding, and their trigrams.
#include "learn/data/labelled_text.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "learn/data/trigrams.hpp"
#include "learn/data/unicode.hpp"
#include "temporary_folder.hpp"

using dsop::learn::expect_error;
using dsop::learn::from_utf8;
using dsop::learn::hashed_trigrams;
using dsop::learn::LabelledText;
using dsop::learn::read_labelled_text;
using dsop::learn::TemporaryFolder;

TEST_CASE("labelled text: the same texts of UTF-8 and of Latin-1") {
  const TemporaryFolder folder;
  for (const auto& path : {folder.write("utf8", "ham\t\xc2\xa3 5\nspam\tn\xc3\xa4\n"),
                           folder.write("latin1", "ham\t\xa3 5\nspam\tn\xe4\n"),
                           folder.write_gzipped("packed.gz", "ham\t\xa3 5\r\nspam\tn\xe4\r\n")}) {
    const std::vector<LabelledText> texts = read_labelled_text(path);
    REQUIRE(texts.size() == 2);
    CHECK(texts[0].label == "ham");
    CHECK((texts[0].text == U"\u00a3 5"));
    CHECK((texts[1].text == U"n\u00e4"));
  }
}

TEST_CASE("labelled text: bad files") {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& bytes, const std::vector<std::string>& words) {
    const auto path = folder.write("bad", bytes);
    expect_error([&] { read_labelled_text(path); }, path, words);
  };
  expect("", {"is empty"});
  expect("ham\tyes\nspam no\n", {"line 2", "0 tabs", "expected a label"});
  expect("ham\tyes\nspam\tno\tno\n", {"line 2", "2 tabs"});
  expect("ham\tyes\n\tno\n", {"line 2", "no label"});
  expect("ham\tyes\nspam\t\n", {"line 2", "no text"});
  expect("ham\tyes\nspam\tno", {"line 2", "cut off"});
  expect("ham\tyes\nspam\tno\r\n", {"line 2", "ends in \\r\\n"});
  expect("ham\tyes\n\nspam\tno\n", {"line 2", "0 tabs"});
  expect("ham\tyes\n\n\n", {"line 2", "0 tabs"});
  expect("\n", {"line 1", "0 tabs"});
  for (const char* const end : {"\n", "\r\n"})  // an empty line at the end is none
    CHECK(read_labelled_text(folder.write("good", std::string("ham\tyes") + end + end)).size() == 1);
}

TEST_CASE("UTF-8: all lengths of characters, and nothing that is malformed") {
  CHECK((from_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") ==
         std::optional<std::u32string>(U"a\u00e4\u20ac\U0001f600")));
  for (const char* const bad : {"\x80", "\xc3", "\xc3z", "\xe2\x82", "\xff", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                                "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    CHECK_FALSE(from_utf8(bad));
}

TEST_CASE("trigrams: counts of length 1 at places that depend on nothing but the text") {
  const auto features = hashed_trigrams(U"aaaa", 20);  // <aa, aaa twice, aa>
  REQUIRE(features.size() == 3);
  double squares = 0;
  std::vector<float> values;
  for (const auto& feature : features) {
    CHECK(feature.index < 1U << 20);
    values.push_back(feature.value);
    squares += static_cast<double>(feature.value) * static_cast<double>(feature.value);
  }
  CHECK(std::abs(squares - 1) < 1e-6);
  CHECK(*std::max_element(values.begin(), values.end()) == static_cast<float>(2 / std::sqrt(6.0)));
  CHECK(features[0].index < features[1].index);
  CHECK(features[1].index < features[2].index);

  CHECK(hashed_trigrams(U"x", 20).size() == 1);
  CHECK(hashed_trigrams(U"x", 20)[0].index != hashed_trigrams(U"y", 20)[0].index);
  CHECK(hashed_trigrams(U"x", 32)[0].index >> 12 == hashed_trigrams(U"x", 20)[0].index);
  CHECK(hashed_trigrams(U"hello", 1).size() <= 2);
}
