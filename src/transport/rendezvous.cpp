#include "transport/rendezvous.hpp"

#include <algorithm>
#include <sstream>
#include <thread>

#include <dsop/errors.hpp>

#include "base/rank_list.hpp"
#include "transport/interrupt.hpp"

namespace dsop {
namespace {

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

}  // namespace

Rendezvous::Rendezvous(const Store& store, const GlooOptions& options)
    : store_(store), options_(options), prefix_(options.run + '/' + std::to_string(options.restart) + '/') {
  if (!store.set || !store.get || !store.wait) throw ArgumentError("the store lacks set, get or wait, expected all");
  constexpr int most_ranks = 1 << 16;  // each has a connection to each other one
  if (options.ranks < 1 || options.ranks > most_ranks)
    throw ArgumentError("ranks is " + std::to_string(options.ranks) + ", expected 1 to " + std::to_string(most_ranks));
  if (options.rank < 0 || options.rank >= options.ranks)
    throw ArgumentError("rank is " + std::to_string(options.rank) + ", expected 0 to " +
                        std::to_string(options.ranks - 1));
  if (options.restart < 0)
    throw ArgumentError("restart is " + std::to_string(options.restart) + ", expected 0 or more");
  constexpr double longest_seconds = 1e6;
  if (!(options.limit_seconds > 0 && options.limit_seconds <= longest_seconds))
    throw ArgumentError((std::ostringstream()
                         << "limit_seconds is " << options.limit_seconds << ", expected more than 0 and at most 1e6")
                            .str());
}

std::string Rendezvous::key(const std::string& name, int rank) const {
  return prefix_ + name + '/' + std::to_string(rank);
}

// Empty where there is none.
std::string Rendezvous::value_now(const std::string& key, double seconds) {
  if (!asked_of_store("wait for", key, [&] { return store_.wait(key, seconds); })) return {};
  return asked_of_store("get", key, [&] { return store_.get(key); });
}

std::vector<std::string> Rendezvous::exchange(const std::string& name, const std::string& own) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.limit_seconds));
  const std::string own_key = key(name, options_.rank);
  expect_no_failure();
  if (!value_now(own_key, 0).empty())
    throw TransportError("rank " + std::to_string(options_.rank) + " of run " + options_.run + ", restart " +
                         std::to_string(options_.restart) +
                         ", is in the store already: another process has this number, or an earlier run has left it "
                         "behind; expected a number, or a run, of its own");
  asked_of_store("set", own_key, [&] { store_.set(own_key, own); });
  given_.push_back(own_key);
  expect_own(own_key, own);

  std::vector<std::string> values;
  for (int rank = 0; rank < options_.ranks; ++rank)
    values.push_back(rank == options_.rank ? own : wait_for(name, rank, own, deadline));
  expect_own(own_key, own);
  return values;
}

void Rendezvous::expect_no_failure() {
  const std::string why = value_now(prefix_ + "failed", 0);
  if (!why.empty())
    throw TransportError("run " + options_.run + ", restart " + std::to_string(options_.restart) +
                         ", has failed: " + why);
}

void Rendezvous::expect_own(const std::string& key, const std::string& own) {
  const std::string found = value_now(key, 0);
  if (found == own) return;
  throw TransportError(found.empty()
                           ? "the store has lost " + key + ", which rank " + std::to_string(options_.rank) + " has set"
                           : "two processes are rank " + std::to_string(options_.rank) + " of run " + options_.run +
                                 ", expected one");
}

std::string Rendezvous::wait_for(const std::string& name, int rank, const std::string& own,
                                 Clock::time_point deadline) {
  constexpr double turn_seconds = 0.2;
  for (;;) {
    const std::string value = value_now(key(name, rank), turn_seconds);
    if (!value.empty()) return value;
    expect_no_failure();
    expect_own(key(name, options_.rank), own);
    if (Clock::now() >= deadline) throw_missing(name, rank);
    check_interrupt();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // where wait() returns at once: the key is there, empty
  }
}

void Rendezvous::throw_missing(const std::string& name, int first) {
  std::vector<int> missing{first};
  for (int rank = first + 1; rank < options_.ranks; ++rank)
    if (rank != options_.rank && value_now(key(name, rank), 0).empty()) missing.push_back(rank);
  throw TransportError((std::ostringstream()
                        << list_ranks(missing) << " of " << options_.ranks << (missing.size() == 1 ? " has" : " have")
                        << " not come to the store within " << options_.limit_seconds << " s")
                           .str());
}

void Rendezvous::fail(const std::string& why) noexcept {
  try {
    if (value_now(prefix_ + "failed", 0).empty()) store_.set(prefix_ + "failed", why);
  } catch (...) {  // the others then hear it when their time is over
  }
}

void Rendezvous::end() {
  for (const std::string& key : given_) asked_of_store("set", key, [&] { store_.set(key, ""); });
}

}  // namespace dsop
