// Who has come to a call: asked and answered by messages, so that a rank that does nothing gives no answer.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace dsop {

/// What a rank knows of how far the others have come, a number that never falls: an old answer may say too little, but
/// never anything wrong. Nobody asks a rank again that has not answered yet, so a rank that comes late, or never, has
/// one question of each other rank to find, however often it was missed.
class RollCall {
 public:
  RollCall(int rank, int ranks) : rank_(static_cast<std::size_t>(rank)), peers_(static_cast<std::size_t>(ranks)) {}

  void take_answer(int from, std::uint64_t position) {
    Peer& peer = peers_[static_cast<std::size_t>(from)];
    peer = {.position = std::max(peer.position, position)};
  }
  /// Whether some rank may still have a question to find.
  bool has_open_questions() const { return std::ranges::any_of(peers_, &Peer::is_asked); }

  /// Those that are not known to have come to `position`. Calls ask(rank) for them, and every 5 ms answer(), which
  /// answers others and takes what has come, for up to so many seconds.
  template <class Ask, class Answer>
  std::vector<int> ranks_behind(std::uint64_t position, double seconds, const Ask& ask, const Answer& answer) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
      answer();
      std::vector<int> behind;
      for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        if (rank == rank_ || peers_[rank].position >= position) continue;
        behind.push_back(static_cast<int>(rank));
        if (!std::exchange(peers_[rank].is_asked, true)) ask(behind.back());
      }
      if (behind.empty() || Clock::now() >= end) return behind;
    }
  }

 private:
  struct Peer {
    std::uint64_t position = 0;  // at least
    bool is_asked = false;       // and has not answered
  };

  std::size_t rank_;
  std::vector<Peer> peers_;
};

}  // namespace dsop
