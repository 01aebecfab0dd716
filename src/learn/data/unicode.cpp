#include "learn/data/unicode.hpp"

#include <array>

namespace dsop::learn {
namespace {

/// What the first byte of a character says: how many bytes it has, and the least number that needs so many.
struct Form {
  unsigned char mask;
  unsigned char mark;
  std::size_t bytes;
  char32_t least;
};

constexpr std::array<Form, 4> forms{
    {{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}}};

const Form* form_of(unsigned char first) {
  for (const Form& form : forms)
    if ((first & form.mask) == form.mark) return &form;
  return nullptr;
}

}  // namespace

std::optional<std::u32string> from_utf8(std::string_view bytes) {
  std::u32string text;
  for (std::size_t i = 0; i < bytes.size();) {
    const auto first = static_cast<unsigned char>(bytes[i]);
    const Form* const form = form_of(first);
    if (form == nullptr || bytes.size() - i < form->bytes) return std::nullopt;
    char32_t character = first & static_cast<unsigned char>(~form->mask);
    for (std::size_t next = i + 1; next < i + form->bytes; ++next) {
      const auto byte = static_cast<unsigned char>(bytes[next]);
      if ((byte & 0xc0U) != 0x80U) return std::nullopt;
      character = character << 6U | (byte & 0x3fU);
    }
    const bool surrogate = character >= 0xd800 && character <= 0xdfff;
    if (character < form->least || surrogate || character > 0x10ffff) return std::nullopt;
    text += character;
    i += form->bytes;
  }
  return text;
}

std::u32string from_latin1(std::string_view bytes) {
  std::u32string text;
  for (const char byte : bytes) text += static_cast<unsigned char>(byte);
  return text;
}

}  // namespace dsop::learn
