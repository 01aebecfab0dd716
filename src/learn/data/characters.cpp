#include "learn/data/characters.hpp"

#include <array>

#include "learn/data/text_file.hpp"

namespace dsop::learn {

CharacterText read_characters(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  static_cast<void>(lines_of(text, path, LastLine::may_end));

  std::array<bool, 256> occurs{};
  for (const char c : text) occurs[static_cast<unsigned char>(c)] = true;
  std::array<std::uint8_t, 256> places{};
  CharacterText result;
  for (std::size_t c = 0; c < occurs.size(); ++c)
    if (occurs[c]) {
      places[c] = static_cast<std::uint8_t>(result.alphabet.size());
      result.alphabet += static_cast<char>(c);
    }
  result.characters.reserve(text.size());
  for (const char c : text) result.characters.push_back(places[static_cast<unsigned char>(c)]);
  return result;
}

}  // namespace dsop::learn
