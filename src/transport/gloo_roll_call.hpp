// Who has come to a call, over Gloo: asked and answered by messages, so that a rank that does nothing gives no answer.
#pragma once

#include <cstdint>
#include <vector>

#include <dsop/transport.hpp>

namespace dsop {

/// A rank that waits answers those who ask with how far it has come, a number that never falls: an old answer may say
/// too little, but never anything wrong.
class GlooRollCall {
 public:
  /// The transport must outlive it.
  explicit GlooRollCall(Transport& transport);

  /// Tells those who have asked that this rank is at `position`.
  void answer(std::uint64_t position);
  /// Asks all others, and answers them too, for up to `seconds`. Returns those who are not known to have come to
  /// `position`.
  std::vector<int> ranks_behind(std::uint64_t position, double seconds);

 private:
  struct Peer {
    int rank = 0;
    bool is_gone = false;
    std::uint64_t position = 0;  // at least
    std::uint64_t told = 0;      // what the answers to and from it carry
    std::uint64_t heard = 0;
    Request asks_us;  // always posted: who asks finds it when this rank begins to wait
    Request our_answer;
    Request our_question;
    Request its_answer;
  };

  template <class Talk>
  void for_peers(Talk talk);
  bool is_over(Request& request);
  void answer(Peer& peer, std::uint64_t position);
  void ask(Peer& peer, std::uint64_t position);

  Transport& transport_;
  std::vector<Peer> peers_;
};

}  // namespace dsop
