// Plain text as numbers, for models of characters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dsop::learn {

/// A character is a byte: of other scripts' UTF-8 each byte counts.
struct CharacterText {
  std::string alphabet;                  ///< the different characters, rising
  std::vector<std::uint8_t> characters;  ///< of the text: places in the alphabet
};

/// The text of a file, gzip'd or plain; line ends are characters like others. Throws Error naming file and line if it
/// can't be read, is empty, holds a byte 0, or its lines end sometimes in "\n" and sometimes in "\r\n". Its last line
/// needs no end.
CharacterText read_characters(const std::filesystem::path& path);

}  // namespace dsop::learn
