// What the ranks send in many calls, beside the formulas: those state what the busiest rank sends.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <dsop/counting.hpp>
#include <dsop/plan.hpp>
#include <dsop/transport.hpp>

namespace dsop::tests {

class SentByCalls {
 public:
  /// Of this rank in a call. All ranks must add the same calls.
  void add(const Traffic& sent, const Cost& stated, const std::string& what) {
    own_.push_back(sent);
    stated_.push_back({stated.messages, stated.bytes});
    what_.push_back(what);
  }

  /// Rank 0 calls fail(text) for every call of which another number is stated. All ranks must call it.
  template <class Fail>
  void check_busiest(Transport& transport, Fail fail) const {
    if (transport.rank() > 0) {
      transport.send(std::span(own_), 0);
      return;
    }
    std::vector<Traffic> busiest = own_;
    std::vector<Traffic> others(own_.size());
    for (int r = 1; r < transport.size(); ++r) {
      transport.recv(std::span(others), r);
      for (std::size_t i = 0; i < others.size(); ++i) busiest[i].raise_to(others[i]);
    }
    for (std::size_t i = 0; i < busiest.size(); ++i)
      if (busiest[i] != stated_[i])
        fail(what_[i] + ": the busiest rank sends " + text(busiest[i]) + ", stated are " + text(stated_[i]));
  }

 private:
  static std::string text(const Traffic& traffic) {
    return std::to_string(traffic.messages) + " messages and " + std::to_string(traffic.bytes) + " bytes";
  }

  std::vector<Traffic> own_;
  std::vector<Traffic> stated_;
  std::vector<std::string> what_;
};

}  // namespace dsop::tests
