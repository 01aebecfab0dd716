// How ranks meet through a store.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <dsop/gloo.hpp>

namespace dsop {

/// One rank's part in a meeting. Keys are RUN/RESTART/NAME/RANK. A value that is there but empty counts as none, so a
/// meeting that has ended leaves keys that the next one can use.
class Rendezvous {
 public:
  /// Throws ArgumentError if the options make no sense. They and the store must outlive it.
  Rendezvous(const Store& store, const GlooOptions& options);

  /// Gives `own`, not empty, and returns what each rank has given. All ranks make the same exchanges. Throws
  /// TransportError if another process has given a value as this rank, a rank does not come in time or has failed, or
  /// the store has lost what this rank gave.
  std::vector<std::string> exchange(const std::string& name, const std::string& own);
  /// Lets ranks that wait in an exchange throw `why`.
  void fail(const std::string& why) noexcept;
  /// Takes back what this rank has given, once no rank needs it any more.
  void end();

 private:
  using Clock = std::chrono::steady_clock;

  std::string key(const std::string& name, int rank) const;
  std::string value_now(const std::string& key, double seconds);
  std::string wait_for(const std::string& name, int rank, const std::string& own, Clock::time_point deadline);
  void expect_no_failure();
  void expect_own(const std::string& key, const std::string& own);
  [[noreturn]] void throw_missing(const std::string& name, int first);

  const Store& store_;
  const GlooOptions& options_;
  std::string prefix_;
  std::vector<std::string> given_;  // keys
};

}  // namespace dsop
