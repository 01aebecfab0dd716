#include "transport/tcp_meeting.hpp"

#include <algorithm>
#include <sstream>
#include <thread>

#include <dsop/errors.hpp>

#include "base/rank_list.hpp"
#include "base/refuse.hpp"
#include "transport/interrupt.hpp"

namespace dsop {

thread_local Meeting::Clock::time_point meeting_deadline = Meeting::Clock::time_point::max();

namespace {

using std::to_string;
constexpr double turn_seconds = 0.2;

// What the store's own functions throw becomes a TransportError that says what was asked of it.
template <class Call>
auto asked_of_store(const char* what, const std::string& key, const Call& call) {
  try {
    return call();
  } catch (const TransportError&) {
    throw;
  } catch (const std::exception& failure) {
    throw TransportError(std::string("the store could not ").append(what).append(" ").append(key) + ": " +
                         failure.what());
  }
}

Meeting::Clock::time_point in_seconds(double seconds) {
  return Meeting::Clock::now() +
         std::chrono::duration_cast<Meeting::Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Meeting::Meeting(const Store& store, const TcpOptions& options)
    : store_(store), options_(options), prefix_(options.run + '/' + to_string(options.restart) + '/') {
  constexpr int most_ranks = 1 << 16;  // each has a connection to each other one
  if (!store.set || !store.get || !store.wait) throw ArgumentError("the store lacks set, get or wait, expected all");
  if (options.ranks < 1 || options.ranks > most_ranks) refuse("ranks", options.ranks, "1 to " + to_string(most_ranks));
  if (options.rank < 0 || options.rank >= options.ranks)
    refuse("rank", options.rank, "0 to " + to_string(options.ranks - 1));
  if (options.restart < 0) refuse("restart", options.restart, "0 or more");
  if (!(options.limit_seconds > 0 && options.limit_seconds <= 1e6))
    refuse("limit_seconds", options.limit_seconds, "more than 0 and at most 1e6");
}

void Meeting::begin_step() {
  meeting_deadline = in_seconds(options_.limit_seconds);
}

bool Meeting::is_over(bool asks_store) {
  check_interrupt();
  if (asks_store && Clock::now() >= next_question_) {
    expect_no_failure();
    next_question_ = in_seconds(turn_seconds);
  }
  return Clock::now() >= meeting_deadline;
}

void Meeting::throw_missing(const std::vector<int>& ranks, const std::string& what) const {
  throw TransportError((std::ostringstream() << list_ranks(ranks) << " of " << options_.ranks
                                             << (ranks.size() == 1 ? " has not " : " have not ") << what << " within "
                                             << options_.limit_seconds << " s")
                           .str());
}

std::string Meeting::key(const std::string& name, int rank) const {
  return prefix_ + name + '/' + to_string(rank);
}

// Empty where there is none.
std::string Meeting::value_now(const std::string& key, double seconds) {
  if (!asked_of_store("wait for", key, [&] { return store_.wait(key, seconds); })) return {};
  return asked_of_store("get", key, [&] { return store_.get(key); });
}

std::vector<std::string> Meeting::exchange(const std::string& name, const std::string& own) {
  begin_step();
  const std::string own_key = key(name, options_.rank);
  expect_no_failure();
  if (!value_now(own_key).empty())
    throw TransportError("rank " + to_string(options_.rank) + " of run " + options_.run + ", restart " +
                         to_string(options_.restart) +
                         ", is in the store already: another process has this number, or an earlier run has left it "
                         "behind; expected a number, or a run, of its own");
  asked_of_store("set", own_key, [&] { store_.set(own_key, own); });
  given_.push_back(own_key);
  expect_own(own_key, own);

  std::vector<std::string> values(static_cast<std::size_t>(options_.ranks));
  const auto missing = [&] {
    std::vector<int> ranks;
    for (int rank = 0; rank < options_.ranks; ++rank)
      if (std::string& value = values[static_cast<std::size_t>(rank)]; value.empty()) {
        value = value_now(key(name, rank));
        if (value.empty()) ranks.push_back(rank);
      }
    return ranks;
  };
  for (int rank = 0; rank < options_.ranks; ++rank)
    for (std::string& value = values[static_cast<std::size_t>(rank)]; value.empty();) {
      value = value_now(key(name, rank), std::min(turn_seconds, options_.limit_seconds));
      if (!value.empty()) break;
      expect_own(own_key, own);
      if (is_over(true)) throw_missing(missing(), "come to the store");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // where wait() returns at once: the key is empty
    }
  expect_own(own_key, own);
  return values;
}

void Meeting::expect_no_failure() {
  const std::string why = value_now(prefix_ + "failed");
  if (!why.empty())
    throw TransportError("run " + options_.run + ", restart " + to_string(options_.restart) + ", has failed: " + why);
}

void Meeting::expect_own(const std::string& key, const std::string& own) {
  const std::string found = value_now(key);
  if (found == own) return;
  throw TransportError(found.empty()
                           ? "the store has lost " + key + ", which rank " + to_string(options_.rank) + " has set"
                           : "two processes are rank " + to_string(options_.rank) + " of run " + options_.run +
                                 ", expected one");
}

void Meeting::fail(const std::string& why) noexcept {
  try {
    if (value_now(prefix_ + "failed").empty()) store_.set(prefix_ + "failed", why);
  } catch (...) {  // the others then hear it when their time is over
  }
}

void Meeting::end() {
  for (const std::string& key : given_) asked_of_store("set", key, [&] { store_.set(key, ""); });
}

}  // namespace dsop
