// Messages of which a receiver knows no more than how long they may be, over any transport.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/transport.hpp>

#include "failures.hpp"

namespace dsop::tests {

/// Two such messages go round the ranks, the second half as long, and then one of known length. They are waited for in
/// either order, and asked for before.
inline void check_told_lengths(Transport& transport, const std::vector<std::size_t>& lengths, Failures& failures) {
  const int r = transport.rank();
  const int P = transport.size();
  const int right = (r + 1) % P;
  const int left = (r + P - 1) % P;
  const auto of_rank = [](int rank, std::size_t length) {
    std::vector<unsigned char> bytes(length);
    for (std::size_t i = 0; i < length; ++i)
      bytes[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(rank) + length);
    return bytes;
  };
  for (const std::size_t length : lengths)
    for (const std::size_t waited_first : {0UL, 1UL})
      for (const std::size_t more_room : {0UL, 1UL, 100'000UL}) {
        std::array<std::vector<unsigned char>, 3> sent, room;
        std::array<Request, 3> sends, receives;
        for (const std::size_t m : {0UL, 1UL, 2UL}) {
          const std::size_t bytes = m == 0 ? length : m == 1 ? length / 2 : 9;
          const Length known = m == 2 ? Length::known : Length::told;
          sent[m] = of_rank(r, bytes);
          room[m].assign(bytes + (m == 2 ? 0 : more_room), 77);
          receives[m] = transport.irecv(std::span(room[m]), left, Tag::payload, known);
          sends[m] = transport.isend(std::span(sent[m]), right, Tag::payload, known);
        }
        transport.test(receives[1]);
        for (const std::size_t m : {waited_first, 1 - waited_first, std::size_t{2}}) {
          const std::size_t came = transport.wait(receives[m]);
          std::vector<unsigned char> expected = of_rank(left, sent[m].size());
          expected.resize(room[m].size(), 77);
          failures.check(
              came == sent[m].size() && room[m] == expected,
              "of " + std::to_string(sent[m].size()) + " bytes " + std::to_string(came) + " came, or others");
        }
        for (Request& send : sends) failures.check(transport.wait(send) <= length + 9, "more was sent");
      }
}

/// What rank 0 throws when rank 1 sends it so many bytes, and it has room for fewer. All ranks' transports are then of
/// no more use.
inline std::string error_of_too_long(Transport& transport, std::size_t length, std::size_t room_bytes) {
  std::vector<char> memory(std::max(length, room_bytes));
  try {
    if (transport.rank() == 0)
      transport.recv(std::span(memory).first(room_bytes), 1, Tag::payload, Length::told);
    else if (transport.rank() == 1)
      transport.send(std::span(memory).first(length), 0, Tag::payload, Length::told);
  } catch (const TransportError& error) {
    if (transport.rank() == 0) return error.what();
  }
  return "";
}

}  // namespace dsop::tests
