// Reading libsvm files whole and in parts, and every kind of bad one.
#include "learn/data/libsvm.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

using dsop::learn::expect_error;
using dsop::learn::Labels;
using dsop::learn::read_libsvm;
using dsop::learn::SparseSamples;
using dsop::learn::TemporaryFolder;
using dsop::learn::write_libsvm;

namespace {

using namespace std::literals;

struct BadLibsvmLine {
  std::string_view line;
  std::array<std::string_view, 2> words = {};
};

SparseSamples read_whole(const std::filesystem::path& path, Labels labels = Labels::numbers) {
  return read_libsvm(path, 0, 1, labels);
}

void append(SparseSamples& all, const SparseSamples& part) {
  for (std::size_t i = 0; i < part.count(); ++i)
    all.row_offsets.push_back(all.row_offsets.back() + part.row_offsets[i + 1] - part.row_offsets[i]);
  all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
  all.indices.insert(all.indices.end(), part.indices.begin(), part.indices.end());
  all.values.insert(all.values.end(), part.values.begin(), part.values.end());
}

void check_equal(const SparseSamples& a, const SparseSamples& b) {
  CHECK(a.labels == b.labels);
  CHECK(a.row_offsets == b.row_offsets);
  CHECK(a.indices == b.indices);
  CHECK(a.values == b.values);
}

/// Lines of very different lengths.
std::string random_file(std::size_t lines, const std::string& line_end) {
  std::mt19937 random(7);
  std::ostringstream file;
  for (std::size_t i = 0; i < lines; ++i) {
    file << i;
    const std::size_t elements = random() % 5 == 0 ? random() % 100 : random() % 3;
    for (std::size_t e = 1; e <= elements; ++e) file << ' ' << 3 * e << ':' << random() % 1000;
    file << line_end;
  }
  return file.str();
}

}  // namespace

TEST_CASE("libsvm: labels, indices from 1 and values of a good file") {
  const TemporaryFolder folder;
  const auto path = folder.write("good", "+1 1:0.5 4294967296:-2e3\n-1\n 3.25\t7:+1  9:1e-3 \n");
  const SparseSamples samples = read_whole(path);
  CHECK(samples.labels == std::vector<float>{1, -1, 3.25});
  CHECK(samples.row_offsets == std::vector<std::size_t>{0, 2, 2, 4});
  CHECK(samples.indices == std::vector<std::uint32_t>{0, 4294967295U, 6, 8});
  CHECK(samples.values == std::vector<float>{0.5, -2000, 1, 1e-3F});
  CHECK(read_whole(folder.write("returns", "1 2:3\r\n0\r\n"), Labels::two_classes).labels == std::vector<float>{1, 0});
}

TEST_CASE("libsvm: files as people have them: queries, comments, UTF-8's mark, a last line without end") {
  const TemporaryFolder folder;
  const std::string end = GENERATE(as<std::string>(), "\n", "\r\n");
  const std::string lines = "# dump of 2024, 7:1" + end + "1 qid:3 1:0.5 4:2 # a comment" + end + "#" + end +
                            "2 qid:4#1:1" + end + "\t# 3 1:1" + end + "1 2:1#";
  const auto plain = folder.write("plain", "1 1:0.5 4:2\n2\n1 2:1\n");
  const SparseSamples expected = read_whole(plain);
  for (const std::string mark : {"", "\xef\xbb\xbf"})
    for (const std::string& last_end : {std::string(), end, end + end}) {
      const auto path = folder.write("file", mark + lines + last_end);
      check_equal(read_whole(path), expected);
      for (const int parts : {2, 3, 7, 100}) {
        SparseSamples together;
        for (int part = 0; part < parts; ++part) append(together, read_libsvm(path, part, parts, Labels::numbers));
        check_equal(together, expected);
      }
    }
  CHECK(read_whole(folder.write("one", "\xef\xbb\xbf-1 1:1"), Labels::two_classes).labels == std::vector<float>{-1});
  const auto bad = folder.write("bad", "\xef\xbb\xbf# a comment\n1 1:1\n1 x:1");
  expect_error([&] { read_whole(bad); }, bad, {"line 3", "the index is \"x\""});
}

TEST_CASE("libsvm: numbers too small for f32 are 0, or what is next to it") {
  const TemporaryFolder folder;
  const std::string many_zeros(400, '0');
  const SparseSamples samples =
      read_whole(folder.write("small", "1e-50 1:1e-50 2:-1e-50 3:1e-40 4:-2e-45 5:1e-9999 6:0." + many_zeros + "1\n"));
  CHECK(samples.labels == std::vector<float>{0});
  CHECK(samples.values == std::vector<float>{0, 0, 1e-40F, -1.4e-45F, 0, 0});
}

TEST_CASE("libsvm: what is written is read again, bit by bit") {
  const std::vector<dsop::learn::Feature> features{{0, 1.0F / 3}, {7, -1e-20F}, {4294967295U, 3e38F}};
  std::ostringstream out;
  write_libsvm(out, -1, features);
  write_libsvm(out, 1, {});
  const TemporaryFolder folder;
  const SparseSamples samples = read_whole(folder.write("file", out.str()));
  CHECK(samples.labels == std::vector<float>{-1, 1});
  CHECK(samples.indices == std::vector<std::uint32_t>{0, 7, 4294967295U});
  CHECK(samples.values == std::vector<float>{1.0F / 3, -1e-20F, 3e38F});
}

TEST_CASE("libsvm: the parts of a file together are the file, more parts than lines or bytes too") {
  const TemporaryFolder folder;
  const std::string end = GENERATE(as<std::string>(), "\n", "\r\n");
  const std::size_t lines = GENERATE(as<std::size_t>(), 1, 3, 200);
  const auto path = folder.write("file", random_file(lines, end));
  const SparseSamples whole = read_whole(path);
  CHECK(whole.count() == lines);
  for (const int parts : {2, 3, 4, 7, 64, 1000}) {
    SparseSamples together;
    for (int part = 0; part < parts; ++part) append(together, read_libsvm(path, part, parts, Labels::numbers));
    CAPTURE(parts);
    check_equal(together, whole);
  }
}

TEST_CASE("libsvm: a line belongs to the part in which it begins") {
  const TemporaryFolder folder;
  const auto path = folder.write("file", "1\n2\n3\n4\n");
  for (int part = 0; part < 4; ++part)
    CHECK(read_libsvm(path, part, 4, Labels::numbers).labels == std::vector<float>{static_cast<float>(part + 1)});
}

TEST_CASE("libsvm: a line longer than what is read at once") {
  std::ostringstream line;
  line << 1;
  for (int i = 1; i < 30000; ++i) line << ' ' << i << ":1";
  const TemporaryFolder folder;
  const auto path = folder.write("long", line.str() + "\n2 1:1\n");
  CHECK(read_libsvm(path, 0, 2, Labels::numbers).count() + read_libsvm(path, 1, 2, Labels::numbers).count() == 2);
  CHECK(read_libsvm(path, 0, 5, Labels::numbers).indices.size() == 29999);
}

TEST_CASE("libsvm: a bad line is named, with what it has and what it should have, by whichever part reads it") {
  constexpr BadLibsvmLine bad_lines[] = {
      {"", {"is empty", "expected a label"}},
      {" \t ", {"is empty", "expected a label"}},
      {"ham 1:2", {"the label is \"ham\"", "expected a number"}},
      {"1x 1:2", {"the label is \"1x\""}},
      {"1e40", {"the label is \"1e40\"", "finite"}},
      {"nan 1:2", {"the label is \"nan\"", "finite"}},
      {"1 0:2", {"the index is 0, expected 1 or more", "add 1 to all indices of all files"}},
      {"1 7:1 qid:3", {"the index is \"qid\"", "whole number"}},
      {"1 4294967297:2", {"the index is \"4294967297\"", "expected 1 to 4294967296"}},
      {"1 99999999999999999999:2", {"the index is \"99999999999999999999\"", "expected 1 to 4294967296"}},
      {"1 -3:2", {"the index is \"-3\"", "whole number"}},
      {"1 1.5:2", {"the index is \"1.5\"", "whole number"}},
      {"1 :2", {"the index is \"\"", "whole number"}},
      {"1 7", {"found \"7\"", "expected index:value"}},
      {"1 5:1 5:2", {"index 5 follows 5", "rise"}},
      {"1 5:1 3:2", {"index 3 follows 5", "rise"}},
      {"1 5:", {"the value of index 5 is \"\"", "expected a number"}},
      {"1 5:one", {"the value of index 5 is \"one\"", "expected a number"}},
      {"1 5:1:2", {"the value of index 5 is \"1:2\"", "expected a number"}},
      {"1 5:nan", {"the value of index 5 is \"nan\"", "finite"}},
      {"1 5:-inf", {"the value of index 5 is \"-inf\"", "finite"}},
      {"1 5:1e39", {"the value of index 5 is \"1e39\"", "finite"}},
      {"1 5:-1e9999", {"the value of index 5 is \"-1e9999\"", "finite"}},
      {"1 5:++1", {"the value of index 5 is \"++1\"", "expected a number"}},
      {"1 5:+-1", {"the value of index 5 is \"+-1\"", "expected a number"}},
      {"1 5:1\r", {"ends in \\r\\n", "same as the first line"}},
      {"1 5:\r1", {"\"\\x0d1\"", "expected a number"}},
      {"1 5:\0001"sv, {"\"\\x001\"", "expected a number"}},
      {"1 5:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
       {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"..."}},
  };
  const TemporaryFolder folder;
  for (const auto& [line, words] : bad_lines) {
    const auto path = folder.write("bad", std::string("1 1:2\n2\n").append(line) + "\n1 1:1\n");
    CAPTURE(line);
    expect_error([&] { read_whole(path); }, path, {words.begin(), words.end()});
    for (const int parts : {1, 2, 5})
      expect_error(
          [&] {
            for (int part = 0; part < parts; ++part) read_libsvm(path, part, parts, Labels::numbers);
          },
          path, {"line 3"});
  }
}

TEST_CASE("libsvm: labels that are no class") {
  const TemporaryFolder folder;
  for (const std::string label : {"3", "0.5", "-2", "-1e-60", "1e-60"}) {
    const auto path = folder.write("file", "1 1:1\n-1\n" + label + " 3:1\n");
    expect_error([&] { read_whole(path, Labels::two_classes); }, path,
                 {"line 3", "the label is \"" + label + "\"", "expected -1 and 1, or 0 and 1, or 1 and 2"});
    CHECK(read_whole(path).count() == 3);
  }
}

TEST_CASE("libsvm: an empty line at the end of a file is none, whichever part reads it") {
  const TemporaryFolder folder;
  for (const std::string end : {"\n", "\r\n"})
    for (const int parts : {1, 2, 3, 20}) {
      const auto path = folder.write("lines", "1 1:2" + end + "1 2:1" + end + end);
      std::size_t count = 0;
      for (int part = 0; part < parts; ++part) count += read_libsvm(path, part, parts, Labels::numbers).count();
      CHECK(count == 2);
    }
  const auto only = folder.write("only", "\n");
  expect_error([&] { read_whole(only); }, only, {"line 1", "is empty"});
  const auto two = folder.write("two", "1 1:2\n\n\n");
  expect_error([&] { read_whole(two); }, two, {"line 2", "is empty"});
}

TEST_CASE("libsvm: a file that is empty, cut off, absent or of another kind") {
  const TemporaryFolder folder;
  const auto expect = [&](const std::filesystem::path& path, const std::vector<std::string>& words) {
    for (const int part : {0, 1}) expect_error([&] { read_libsvm(path, part, 2, Labels::numbers); }, path, words);
  };
  expect(folder.write("empty", ""), {"is empty"});
  expect(folder.path() / "absent", {"can't be opened", "No such file"});
  expect(folder.path(), {"can't be read", "Is a directory"});
  expect(folder.write_gzipped("packed.gz", "1 1:2\n"), {"is gzip'd"});
  const auto text = folder.write("text", "Call me Ishmael.\n");
  expect_error([&] { read_whole(text); }, text, {"line 1", "the label is \"Call\""});
  const auto returns = folder.write("returns", "1 1:2\r\n1 1:1\n");
  expect_error([&] { read_whole(returns); }, returns, {"line 2", "ends in \\n"});
}
