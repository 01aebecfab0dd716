// Characters of text in two encodings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dsop::learn {

/// The characters of a UTF-8 text; nothing if it is none: cut or stray bytes, characters in more bytes than needed,
/// surrogates, or above U+10FFFF.
std::optional<std::u32string> from_utf8(std::string_view bytes);

/// Each byte is a character.
std::u32string from_latin1(std::string_view bytes);

}  // namespace dsop::learn
