// Text files as lines.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dsop::learn {

/// The whole of a text file, gzip'd or plain. Throws Error naming the file if it can't be read, is empty, or holds a
/// byte 0, which no text does.
std::string read_text(const std::filesystem::path& path);

enum class LastLine : unsigned char { must_end, may_end };

/// The lines of a text without their ends, which are all "\n" or all "\r\n"; views of `text`. Throws Error naming
/// `path` and the line if the ends are mixed, a "\r" stands elsewhere, or the last line has no end but must, as in a
/// file that was cut off.
std::vector<std::string_view> lines_of(std::string_view text, const std::filesystem::path& path,
                                       LastLine last_line = LastLine::must_end);

/// The parts of a line between separators, of which there may be several in a row, and at its ends.
std::vector<std::string_view> words_of(std::string_view line, std::string_view separators = " ");

}  // namespace dsop::learn
