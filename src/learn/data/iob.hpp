// The IOB format, in which ATIS comes: a sentence a line; its words, a tab, the slot tag of each word but the last, and
// the intent in the place of the last word's tag:
//
//   BOS fly to boston EOS <tab> O O O B-toloc.city_name atis_flight
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dsop::learn {

struct TaggedSentence {
  std::vector<std::string> words;
  std::vector<std::string> tags;  ///< one for each word but the last: O, B-... or I-...
  std::string intent;
};

/// The sentences of a file, gzip'd or plain, in its order. Throws Error naming file, line, what was found and what was
/// expected: no tab or two, not one tag for each word, a tag that is not O, B-... or I-..., an intent that looks like
/// one, and what lines_of() refuses.
std::vector<TaggedSentence> read_iob(const std::filesystem::path& path);

}  // namespace dsop::learn
