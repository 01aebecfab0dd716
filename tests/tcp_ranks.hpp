// Ranks over TCP within one process.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <dsop/tcp.hpp>

#include "failures.hpp"
#include "kernels/threads.hpp"

namespace dsop::tests {

/// A store in memory, for all threads.
class MemoryStore {
 public:
  Store store() {
    return {.set =
                [this](const std::string& key, const std::string& value) {
                  const std::lock_guard lock(mutex_);
                  values_[key] = value;
                  changed_.notify_all();
                },
            .get =
                [this](const std::string& key) {
                  const std::lock_guard lock(mutex_);
                  return values_.at(key);
                },
            .wait =
                [this](const std::string& key, double seconds) {
                  std::unique_lock lock(mutex_);
                  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                                           [&] { return values_.contains(key); });
                }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

/// The store as `rank` sees it if rank r is on host hosts[r]: ranks of others have introduced themselves with another
/// name.
inline Store on_hosts(Store store, std::vector<std::size_t> hosts, std::size_t rank) {
  const auto get = store.get;
  store.get = [get, hosts = std::move(hosts), rank](const std::string& key) {
    std::string value = get(key);
    const std::string of_a_rank = "/rank/";
    const std::size_t found = key.find(of_a_rank);
    if (found == std::string::npos || value.empty()) return value;
    const std::size_t host = hosts[std::stoul(key.substr(found + of_a_rank.size()))];
    // "RANKS HOST ...", and what the rank itself has given it must find unchanged
    if (host != hosts[rank]) value.insert(value.find(' ') + 1, "host" + std::to_string(host) + "-");
    return value;
  };
  return store;
}

/// Runs body(rank) on P threads and returns what each has thrown, "" where it threw nothing.
inline std::vector<std::string> errors_on_threads(int P, const std::function<void(int)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(P));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < P; ++rank)
      threads.emplace_back([&, rank] {
        kernels::set_thread_count(1);
        try {
          body(rank);
        } catch (const std::exception& error) {
          errors[static_cast<std::size_t>(rank)] = error.what();
        }
      });
  }
  return errors;
}

/// Runs body on P ranks that are connected over TCP and returns what failed.
inline std::string failures_over_tcp(int P, const OnRank& body) {
  MemoryStore memory;
  Failures failures;
  const auto errors = errors_on_threads(P, [&](int rank) {
    const std::unique_ptr<Transport> transport = connect_over_tcp(memory.store(), {.rank = rank, .ranks = P});
    body(*transport, failures);
  });
  for (const std::string& error : errors) failures.check(error.empty(), error);
  return failures.text();
}

}  // namespace dsop::tests
