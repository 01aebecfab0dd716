// Feeds every reader of data files and of checkpoints what good files become when bytes change: it must read them or
// throw Error. Most is seen in a build with sanitizers. The mutations are a function of their number, so a failure can
// be repeated.
//
// Usage: fuzz-parsers [MUTATIONS [FIRST]]
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_reader.hpp"
#include "learn/data/characters.hpp"
#include "learn/data/idx.hpp"
#include "learn/data/input_file.hpp"
#include "learn/data/iob.hpp"
#include "learn/data/labelled_text.hpp"
#include "learn/data/libsvm.hpp"
#include "learn/data/trigrams.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace dsop::learn;
namespace fs = std::filesystem;

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("what was read has " + what);
}

void read_idx_file(const fs::path& path) {
  const auto read = [&](std::size_t dimensions) {
    const IdxArray array = read_idx(path, dimensions);
    std::size_t product = 1;
    for (const std::size_t size : array.shape) product *= size;
    expect(array.values.size() == product, "not the bytes of its shape");
  };
  try {
    read(3);
  } catch (const dsop::Error&) {
    read(1);
  }
}

void read_iob_file(const fs::path& path) {
  for (const TaggedSentence& sentence : read_iob(path)) {
    expect(sentence.words.size() == sentence.tags.size() + 1, "not a tag for each word but the last");
    expect(!sentence.intent.empty(), "no intent");
  }
}

void read_character_file(const fs::path& path) {
  const CharacterText text = read_characters(path);
  expect(!text.characters.empty(), "no characters");
  for (const std::uint8_t character : text.characters)
    expect(character < text.alphabet.size(), "a character beyond its alphabet");
}

void read_text_file(const fs::path& path) {
  for (const LabelledText& text : read_labelled_text(path)) {
    expect(!text.label.empty(), "no label");
    expect(!hashed_trigrams(text.text, 20).empty(), "no trigram");
  }
}

std::size_t checked_count(const SparseSamples& samples) {
  expect(samples.row_offsets.size() == samples.count() + 1, "not a row for each label");
  expect(samples.row_offsets.back() == samples.indices.size(), "not all elements in rows");
  expect(samples.values.size() == samples.indices.size(), "not an index for each value");
  for (std::size_t i = 0; i < samples.count(); ++i)
    for (std::size_t e = samples.row_offsets[i] + 1; e < samples.row_offsets[i + 1]; ++e)
      expect(samples.indices[e - 1] < samples.indices[e], "indices that do not rise");
  return samples.count();
}

void read_libsvm_file(const fs::path& path) {
  const std::size_t count = checked_count(read_libsvm(path, 0, 1, Labels::numbers));
  std::size_t in_parts = 0;
  for (int part = 0; part < 3; ++part) in_parts += checked_count(read_libsvm(path, part, 3, Labels::numbers));
  expect(count == in_parts, "other samples in parts");
  static_cast<void>(read_libsvm(path, 0, 1, Labels::two_classes));
}

std::string idx_bytes(std::initializer_list<char> sizes) {
  std::string bytes{0, 0, 8, static_cast<char>(sizes.size())};
  std::size_t count = 1;
  for (const char size : sizes) {
    bytes += std::string(3, '\0') + size;
    count *= static_cast<std::size_t>(size);
  }
  return bytes + std::string(count, '\7');
}

std::string gzipped(const TemporaryFolder& folder, const std::string& bytes) {
  return bytes_of(folder.write_gzipped("good.gz", bytes));
}

std::vector<Reader> readers(const TemporaryFolder& folder) {
  const std::string sentences = "BOS fly to boston EOS\t O O O B-city atis_flight\nBOS why EOS\tO I-x atis_y\n";
  const std::string texts = "ham\tn\xc3\xa4 \xe2\x82\xac 5\nspam\t\xf0\x9f\x98\x80\nspam\tyes\n";
  const std::string samples = "+1 1:0.5 17:-2e3\n-1\n0 4294967296:1\n1 2:1 3:1 4:1e-3\n";
  const std::string images = idx_bytes({3, 2, 2});
  return {
      {"IDX", read_idx_file, {images, idx_bytes({5}), gzipped(folder, images)}},
      {"IOB", read_iob_file, {sentences, gzipped(folder, sentences)}},
      {"characters", read_character_file, {"one\ntwo\n\nthree", "one\r\ntwo\r\n"}},
      {"labelled text", read_text_file, {texts, "ham\tn\xe4\r\nspam\t\xa3\r\n", gzipped(folder, texts)}},
      {"libsvm", read_libsvm_file, {samples, "1 1:1\r\n0 2:1 3:1\r\n", "\xef\xbb\xbf# two\n1 qid:3 2:1 # one\n2 1:1"}},
      checkpoint_reader(folder),
      linear_checkpoint_reader(folder),
      synchronizer_reader(),
  };
}

/// Bytes and words that mean something to some reader.
constexpr std::array<std::string_view, 32> morsels{
    "\n",         "\r\n",       "\r",   "\t",          " ",    ":",    "-",
    "+",          "O",          "B-",   "0",           "1",    "-1",   "nan",
    "inf",        "1e",         "1e99", ".",           "#",    "\x1f", "\x8b",
    "4294967296", "4294967297", "\xc3", "\xe2\x82",    "\xff", "x",    "99999999999999999999",
    "1:1",        "0:",         "qid:", "\xef\xbb\xbf"};

std::string mutated(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(limit, 1));
  };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t place = below(bytes.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(bytes.size() - place, 12) + 1);
    switch (below(7)) {
      case 0:
        bytes.resize(place);
        break;
      case 1:
        bytes.erase(place, length);
        break;
      case 2:
        bytes.insert(place, bytes.substr(place, length));
        break;
      case 3:
        bytes.insert(place, morsels[below(morsels.size())]);
        break;
      case 4:
        bytes.replace(place, length, morsels[below(morsels.size())]);
        break;
      case 5:
        bytes.insert(place, 1, static_cast<char>(below(256)));
        break;
      default:
        if (place < bytes.size()) bytes[place] = static_cast<char>(bytes[place] ^ 1 << below(8));
    }
  }
  return bytes;
}

std::size_t number(const char* text) {
  const std::string_view digits(text);
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw dsop::Error("the argument is " + dsop::in_quotes(digits) + ", expected a number");
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const TemporaryFolder folder;
  std::string what = "the arguments";
  try {
    const std::size_t mutations = argc > 1 ? number(argv[1]) : 1000;
    const std::size_t first = argc > 2 ? number(argv[2]) : 0;
    for (const Reader& reader : readers(folder)) {
      std::size_t refused = 0;
      for (std::size_t m = first; m < first + mutations; ++m) {
        std::mt19937_64 random(m);
        const std::string bytes = mutated(reader.good[m % reader.good.size()], random);
        what = std::string(reader.name).append(", mutation ") + std::to_string(m) + ", " + dsop::in_quotes(bytes);
        try {
          reader.read(folder.write("mutated", reader.sealed(bytes)));
        } catch (const dsop::Error&) {
          ++refused;
        }
      }
      std::cout << reader.name << ": " << mutations - refused << " read, " << refused << " refused\n";
      what = std::string(reader.name).append(", unchanged");
      for (const std::string& good : reader.good) reader.read(folder.write("good", reader.sealed(good)));
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << what << ": " << error.what() << '\n';
  }
  return 1;
}
