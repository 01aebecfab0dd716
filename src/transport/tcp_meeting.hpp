// How ranks meet through a store.
#pragma once

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/tcp.hpp>

#include "base/rank_list.hpp"
#include "base/refuse.hpp"
#include "transport/interrupt.hpp"

namespace dsop {

/// When the meeting's step that this thread is in must be over; a file that others have locked is not waited for
/// longer.
inline thread_local std::chrono::steady_clock::time_point meeting_deadline =
    std::chrono::steady_clock::time_point::max();

inline std::chrono::steady_clock::time_point in_seconds(double seconds) {
  using Clock = std::chrono::steady_clock;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// One rank's part in a meeting. Keys are RUN/RESTART/NAME/RANK. A value that is there but empty counts as none, so a
/// meeting that has ended leaves keys that the next one can use.
class Meeting {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws ArgumentError if the options make no sense. They and the store must outlive it.
  Meeting(const Store& store, const TcpOptions& options)
      : store_(store), options_(options), prefix_(options.run + '/' + std::to_string(options.restart) + '/') {
    constexpr int most_ranks = 1 << 16;  // each has a connection to each other one
    if (!store.set || !store.get || !store.wait) throw ArgumentError("the store lacks set, get or wait, expected all");
    if (options.ranks < 1 || options.ranks > most_ranks)
      refuse("ranks", options.ranks, "1 to " + std::to_string(most_ranks));
    if (options.rank < 0 || options.rank >= options.ranks)
      refuse("rank", options.rank, "0 to " + std::to_string(options.ranks - 1));
    if (options.restart < 0) refuse("restart", options.restart, "0 or more");
    if (!(options.limit_seconds > 0 && options.limit_seconds <= 1e6))
      refuse("limit_seconds", options.limit_seconds, "more than 0 and at most 1e6");
  }
  Meeting(const Meeting&) = delete;
  ~Meeting() { meeting_deadline = Clock::time_point::max(); }

  /// Begins a step that may take the limit.
  void begin_step() const { meeting_deadline = in_seconds(options_.limit_seconds); }

  /// Whether the step's time is over. Throws if the program ends the wait or, where it `asks_store` now and then,
  /// another rank has failed.
  bool is_over(bool asks_store) {
    check_interrupt();
    if (asks_store && Clock::now() >= next_question_) {
      expect_no_failure();
      next_question_ = in_seconds(turn_seconds);
    }
    return Clock::now() >= meeting_deadline;
  }
  /// TransportError: these ranks have not done `what` in time.
  [[noreturn]] void throw_missing(const std::vector<int>& ranks, const std::string& what) const {
    throw TransportError((std::ostringstream() << list_ranks(ranks) << " of " << options_.ranks
                                               << (ranks.size() == 1 ? " has not " : " have not ") << what << " within "
                                               << options_.limit_seconds << " s")
                             .str());
  }

  /// Gives `own`, not empty, and returns what each rank has given. All ranks make the same exchanges. Throws
  /// TransportError if another process has given a value as this rank, a rank does not come in time or has failed, or
  /// the store has lost what this rank gave.
  std::vector<std::string> exchange(const std::string& name, const std::string& own) {
    begin_step();
    const auto key = [&](std::size_t rank) { return prefix_ + name + '/' + std::to_string(rank); };
    const std::string own_key = key(static_cast<std::size_t>(options_.rank));
    expect_no_failure();
    if (!value_now(own_key).empty())
      throw TransportError("rank " + std::to_string(options_.rank) + " of run " + options_.run + ", restart " +
                           std::to_string(options_.restart) +
                           ", is in the store already: another process has this number, or an earlier run has left it "
                           "behind; expected a number, or a run, of its own");
    asked("set", own_key, [&] { store_.set(own_key, own); });
    given_.push_back(own_key);
    expect_own(own_key, own);

    std::vector<std::string> values(static_cast<std::size_t>(options_.ranks));
    for (std::size_t rank = 0; rank < values.size();) {
      values[rank] = value_now(key(rank), std::min(turn_seconds, options_.limit_seconds));
      if (!values[rank].empty()) {
        ++rank;
        continue;
      }
      expect_own(own_key, own);
      if (is_over(true)) {
        std::vector<int> missing;
        for (std::size_t r = rank; r < values.size(); ++r)
          if (value_now(key(r)).empty()) missing.push_back(static_cast<int>(r));
        if (!missing.empty()) throw_missing(missing, "come to the store");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // where wait() returns at once: the key is empty
    }
    expect_own(own_key, own);
    return values;
  }

  /// Lets ranks that wait throw `why`.
  void fail(const std::string& why) noexcept {
    try {
      if (value_now(prefix_ + "failed").empty()) store_.set(prefix_ + "failed", why);
    } catch (...) {  // the others then hear it when their time is over
    }
  }
  /// Takes back what this rank has given, once no rank needs it any more.
  void end() const {
    for (const std::string& key : given_) asked("set", key, [&] { store_.set(key, ""); });
  }

 private:
  static constexpr double turn_seconds = 0.2;

  // What the store's own functions throw becomes a TransportError that says what was asked of it.
  template <class Call>
  static std::invoke_result_t<Call> asked(const char* what, const std::string& key, const Call& call) {
    try {
      return call();
    } catch (const TransportError&) {
      throw;
    } catch (const std::exception& failure) {
      throw TransportError(std::string("the store could not ").append(what).append(" ").append(key) + ": " +
                           failure.what());
    }
  }

  // Empty where there is none.
  std::string value_now(const std::string& key, double seconds = 0) const {
    if (!asked("wait for", key, [&] { return store_.wait(key, seconds); })) return {};
    return asked("get", key, [&] { return store_.get(key); });
  }

  void expect_no_failure() const {
    const std::string why = value_now(prefix_ + "failed");
    if (!why.empty())
      throw TransportError("run " + options_.run + ", restart " + std::to_string(options_.restart) +
                           ", has failed: " + why);
  }

  void expect_own(const std::string& key, const std::string& own) const {
    const std::string found = value_now(key);
    if (found == own) return;
    const std::string rank = std::to_string(options_.rank);
    throw TransportError(found.empty()
                             ? "the store has lost " + key + ", which rank " + rank + " has set"
                             : "two processes are rank " + rank + " of run " + options_.run + ", expected one");
  }

  const Store& store_;
  const TcpOptions& options_;
  std::string prefix_;
  Clock::time_point next_question_{};
  std::vector<std::string> given_;  // keys
};

}  // namespace dsop
