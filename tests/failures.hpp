// What went wrong on the ranks: Catch2's assertions belong to the main thread alone.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/threads.hpp>

namespace dsop::tests {

class Failures {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (count_++ < 10) text_ += text + '\n';
  }
  void check(bool good, const std::string& text) {
    if (!good) add(text);
  }
  /// Empty when all is well.
  std::string text() const { return count_ <= 10 ? text_ : text_ + "... " + std::to_string(count_) + " in all\n"; }

 private:
  std::mutex mutex_;
  int count_ = 0;
  std::string text_;
};

/// What the ranks of a test run: a template of it would be compiled anew for each of hundreds of tests.
using OnRank = std::function<void(Transport&, Failures&)>;

/// Runs body on P ranks as threads and returns what failed.
inline std::string failures_on_threads(int P, const OnRank& body) {
  Failures failures;
  run_on_threads(P, [&](Transport& transport) { body(transport, failures); });
  return failures.text();
}

/// The same on ranks that share nodes: nodes[r] is rank r's.
inline std::string failures_on_nodes(const std::vector<int>& nodes, const OnRank& body) {
  Failures failures;
  run_on_threads(
      static_cast<int>(nodes.size()), [&](Transport& transport) { body(transport, failures); }, 1, nodes);
  return failures.text();
}

/// The text of the ArgumentError that `call` throws, or "" if it throws none.
inline std::string argument_error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

}  // namespace dsop::tests
