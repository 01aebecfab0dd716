#include "clock.hpp"

#include <chrono>
#include <thread>

namespace dsop::bench {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void wait_until(double seconds) {
  // A sleeping thread wakes up too late by about so much; the rest is spent yielding the core, since others may share
  // it.
  constexpr double oversleep_seconds = 100e-6;
  const double sleep_seconds = seconds - now_seconds() - oversleep_seconds;
  if (sleep_seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(sleep_seconds));
  while (now_seconds() < seconds) std::this_thread::yield();
}

}  // namespace dsop::bench
