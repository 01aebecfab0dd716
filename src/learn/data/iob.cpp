#include "learn/data/iob.hpp"

#include <algorithm>

#include "learn/data/input_file.hpp"
#include "learn/data/text_file.hpp"

namespace dsop::learn {
namespace {

bool is_tag(std::string_view word) {
  return word == "O" || (word.size() > 2 && (word.starts_with("B-") || word.starts_with("I-")));
}

TaggedSentence sentence_of(std::string_view line, std::size_t number, const std::filesystem::path& path) {
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  if (tabs != 1)
    fail_at(path, number, "has " + std::to_string(tabs) + " tabs, expected words, one tab, tags and the intent");
  const std::size_t tab = line.find('\t');
  const std::vector<std::string_view> words = words_of(line.substr(0, tab));
  const std::vector<std::string_view> labels = words_of(line.substr(tab + 1));
  if (words.size() < 2) fail_at(path, number, "has " + std::to_string(words.size()) + " words, expected at least 2");
  if (labels.size() != words.size())
    fail_at(path, number,
            "has " + std::to_string(labels.size()) + " tags, intent included, expected as many as words, " +
                std::to_string(words.size()));
  const auto wrong = std::find_if_not(labels.begin(), labels.end() - 1, is_tag);
  if (wrong != labels.end() - 1)
    fail_at(path, number,
            "tag " + std::to_string(wrong - labels.begin() + 1) + " is " + in_quotes(*wrong) +
                ", expected O, B-... or I-...");
  if (is_tag(labels.back())) fail_at(path, number, "the intent is " + in_quotes(labels.back()) + ", expected no tag");
  return {{words.begin(), words.end()}, {labels.begin(), labels.end() - 1}, std::string(labels.back())};
}

}  // namespace

std::vector<TaggedSentence> read_iob(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  std::vector<TaggedSentence> sentences;
  for (const std::string_view line : lines_of(text, path))
    sentences.push_back(sentence_of(line, sentences.size() + 1, path));
  return sentences;
}

}  // namespace dsop::learn
