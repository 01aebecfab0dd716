// Labelled texts: a label, a tab and a text a line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dsop::learn {

struct LabelledText {
  std::string label;
  std::u32string text;  ///< a Unicode character an element
};

/// The lines of a file, gzip'd or plain, in its order: UTF-8, or Latin-1 where the file as a whole is no UTF-8. Throws
/// Error naming file, line, what was found and what was expected: no tab or two, an empty label or text, and what
/// lines_of() refuses.
std::vector<LabelledText> read_labelled_text(const std::filesystem::path& path);

}  // namespace dsop::learn
