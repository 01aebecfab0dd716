// How a roll call waits for answers.
#pragma once

#include <chrono>
#include <thread>
#include <vector>

namespace dsop {

/// Calls `look`, which returns the ranks that are still behind, every 5 ms until there is none or so many seconds are
/// over. Returns what it returned last.
template <class Look>
std::vector<int> look_for_ranks(double seconds, const Look& look) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (;;) {
    std::vector<int> behind = look();
    if (behind.empty() || Clock::now() >= end) return behind;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace dsop
