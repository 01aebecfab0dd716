#include "learn/data/drawn_digits.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

namespace dsop::learn {
namespace {

constexpr int picture_size = 28;
constexpr int glyph_rows = 7;
constexpr int glyph_columns = 5;

using Glyph = std::array<std::string_view, glyph_rows>;

constexpr std::array<Glyph, 10> glyphs{{
    {".###.", "#...#", "#...#", "#...#", "#...#", "#...#", ".###."},
    {"..#..", ".##..", "#.#..", "..#..", "..#..", "..#..", "..#.."},
    {".###.", "#...#", "....#", "...#.", "..#..", ".#...", "#####"},
    {"####.", "....#", "....#", ".###.", "....#", "....#", "####."},
    {"#..#.", "#..#.", "#..#.", "#####", "...#.", "...#.", "...#."},
    {"#####", "#....", "#....", "####.", "....#", "....#", "####."},
    {"..##.", ".#...", "#....", "####.", "#...#", "#...#", ".###."},
    {"#####", "....#", "...#.", "..#..", ".#...", ".#...", ".#..."},
    {".###.", "#...#", "#...#", ".###.", "#...#", "#...#", ".###."},
    {".###.", "#...#", "#...#", ".####", "....#", "...#.", ".##.."},
}};

/// Random numbers whose bits, unlike those of the standard library's distributions, are the same everywhere.
class Random {
 public:
  explicit Random(std::uint32_t seed) : generator_(seed) {}

  float between(float low, float high) {
    return low + (high - low) * (static_cast<float>(generator_() >> 8) / 16777216.0F);
  }

 private:
  std::mt19937 generator_;
};

float ink_at(const Glyph& glyph, int row, int column) {
  if (row < 0 || row >= glyph_rows || column < 0 || column >= glyph_columns) return 0;
  return glyph[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] == '#' ? 1.0F : 0.0F;
}

/// Between the centres of the glyph's cells ink fades linearly.
float interpolated_ink(const Glyph& glyph, float row, float column) {
  const int top = static_cast<int>(row + 1) - 1;
  const int left = static_cast<int>(column + 1) - 1;
  const float down = row - static_cast<float>(top);
  const float right = column - static_cast<float>(left);
  return (1 - down) * ((1 - right) * ink_at(glyph, top, left) + right * ink_at(glyph, top, left + 1)) +
         down * ((1 - right) * ink_at(glyph, top + 1, left) + right * ink_at(glyph, top + 1, left + 1));
}

void draw(const Glyph& glyph, Random& random, std::vector<std::uint8_t>& pixels) {
  const float cell = random.between(2.4F, 3.4F);
  const float slant = random.between(-0.4F, 0.4F);
  const float centre_row = random.between(11.7F, 15.3F);
  const float centre_column = random.between(11.7F, 15.3F);
  const float strength = random.between(120, 300);
  for (int i = 0; i < picture_size; ++i)
    for (int j = 0; j < picture_size; ++j) {
      const float below_centre = static_cast<float>(i) - centre_row;
      const float right_of_centre = static_cast<float>(j) - centre_column + slant * below_centre;
      const float row = std::clamp(below_centre / cell + 3, -1.0F, 7.0F);
      const float column = std::clamp(right_of_centre / cell + 2, -1.0F, 5.0F);
      const float ink = strength * interpolated_ink(glyph, row, column) + random.between(-160, 160);
      pixels.push_back(static_cast<std::uint8_t>(std::clamp(ink, 0.0F, 255.0F)));
    }
}

}  // namespace

Digits draw_digits(std::size_t count, std::uint32_t seed) {
  Random random(seed);
  Digits digits{picture_size, picture_size, {}, {}};
  digits.pixels.reserve(count * picture_size * picture_size);
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::uint8_t>(random.between(0, 10));
    digits.labels.push_back(label);
    draw(glyphs[label], random, digits.pixels);
  }
  return digits;
}

}  // namespace dsop::learn
