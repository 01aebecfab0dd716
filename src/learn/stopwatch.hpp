// Where time goes.
#pragma once

#include <chrono>

namespace dsop::learn {

/// Adds the seconds from one call of stop() to the next, or from the construction, to what is given.
class Stopwatch {
 public:
  void stop(double& seconds) {
    const auto now = std::chrono::steady_clock::now();
    seconds += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Adds the seconds of its life to what is given.
class AddedSeconds {
 public:
  explicit AddedSeconds(double& seconds) : seconds_(seconds) {}
  AddedSeconds(const AddedSeconds&) = delete;
  ~AddedSeconds() { watch_.stop(seconds_); }

 private:
  double& seconds_;
  Stopwatch watch_;
};

}  // namespace dsop::learn
