// How ranks meet through a store.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <dsop/tcp.hpp>

namespace dsop {

/// When the meeting's step that this thread is in must be over; a file that others have locked is not waited for
/// longer.
extern thread_local std::chrono::steady_clock::time_point meeting_deadline;

/// One rank's part in a meeting. Keys are RUN/RESTART/NAME/RANK. A value that is there but empty counts as none, so a
/// meeting that has ended leaves keys that the next one can use.
class Meeting {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws ArgumentError if the options make no sense. They and the store must outlive it.
  Meeting(const Store& store, const TcpOptions& options);
  ~Meeting() { meeting_deadline = Clock::time_point::max(); }

  /// Begins a step that may take the limit.
  void begin_step();
  /// Whether the step's time is over. Throws if the program ends the wait or, where it `asks_store` now and then,
  /// another rank has failed.
  bool is_over(bool asks_store);
  /// TransportError: these ranks have not done `what` in time.
  [[noreturn]] void throw_missing(const std::vector<int>& ranks, const std::string& what) const;

  /// Gives `own`, not empty, and returns what each rank has given. All ranks make the same exchanges. Throws
  /// TransportError if another process has given a value as this rank, a rank does not come in time or has failed, or
  /// the store has lost what this rank gave.
  std::vector<std::string> exchange(const std::string& name, const std::string& own);
  /// Lets ranks that wait throw `why`.
  void fail(const std::string& why) noexcept;
  /// Takes back what this rank has given, once no rank needs it any more.
  void end();

 private:
  std::string key(const std::string& name, int rank) const;
  std::string value_now(const std::string& key, double seconds = 0);
  void expect_no_failure();
  void expect_own(const std::string& key, const std::string& own);

  const Store& store_;
  const TcpOptions& options_;
  std::string prefix_;
  Clock::time_point next_question_{};
  std::vector<std::string> given_;  // keys
};

}  // namespace dsop
