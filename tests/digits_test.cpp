// The digits that the example draws, and how it shares digits out.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "learn/data/drawn_digits.hpp"
#include "share.hpp"

TEST_CASE("digits: a seed gives the same pictures, another seed others") {
  const dsop::learn::Digits first = dsop::learn::draw_digits(200, 1);
  CHECK(first.count() == 200);
  CHECK(first.pixels.size() == 200 * 28 * 28);
  for (std::uint8_t digit = 0; digit < 10; ++digit)
    CHECK(std::find(first.labels.begin(), first.labels.end(), digit) != first.labels.end());
  CHECK(*std::max_element(first.labels.begin(), first.labels.end()) == 9);
  CHECK(dsop::learn::draw_digits(200, 1).pixels == first.pixels);
  CHECK(dsop::learn::draw_digits(200, 2).pixels != first.pixels);
}

TEST_CASE("digits: the shares of all ranks hold each place once, in the order of one rank") {
  const dsop::learn::Digits digits = dsop::learn::draw_digits(101, 1);
  const examples::Share whole(digits, 0, 1);
  REQUIRE(whole.total() == 101);
  REQUIRE(whole.features() == 785);
  const int ranks = GENERATE(2, 3, 4, 7, 150);
  std::vector<examples::Share> shares;
  for (int rank = 0; rank < ranks; ++rank) shares.emplace_back(digits, rank, ranks);

  for (std::size_t first = 0; first < 101; first += 10) {
    const std::size_t last = std::min<std::size_t>(first + 10, 101);
    const auto all = whole.images(first, last);
    REQUIRE(all.rows == last - first);
    std::vector<std::size_t> used(shares.size());
    for (std::size_t place = first; place < last; ++place) {
      const std::size_t owner = place % shares.size();
      const auto images = shares[owner].images(first, last);
      REQUIRE(used[owner] < images.rows);
      CHECK(std::equal(images.row(used[owner]), images.row(used[owner]) + 785, all.row(place - first)));
      CHECK(shares[owner].labels(first, last)[used[owner]] == whole.labels(first, last)[place - first]);
      ++used[owner];
    }
    for (std::size_t rank = 0; rank < shares.size(); ++rank) CHECK(used[rank] == shares[rank].images(first, last).rows);
  }
}

TEST_CASE("digits: a row is the pixels from 0 to 1 and a 1") {
  dsop::learn::Digits digits{1, 2, {}, {}};
  digits.pixels = {0, 255};
  digits.labels = {4};
  const examples::Share share(digits, 0, 1);
  const auto row = share.images(0, 1);
  REQUIRE(row.columns == 3);
  CHECK(std::vector<float>(row.data, row.data + 3) == std::vector<float>{0, 1, 1});
}
