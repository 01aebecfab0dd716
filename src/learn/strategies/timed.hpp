// How long a step is held up by other ranks.
#pragma once

#include <chrono>
#include <string>

#include "learn/strategies/strategy.hpp"

namespace dsop::learn {

/// Hands everything on to another strategy, which must outlive it, and adds up the seconds that its calls take without
/// its product_seconds() and selection_seconds(): all the communication that a step waits for, and the products that
/// can't be told from it.
template <class T>
class TimedStrategy final : public Strategy<T> {
 public:
  explicit TimedStrategy(Strategy<T>& inner) : inner_(inner) {}

  double seconds() const { return seconds_ - inner_.product_seconds() - inner_.selection_seconds(); }

  void begin(double learning_rate) override {
    time([&] { inner_.begin(learning_rate); });
  }
  void need(Parameter<T>& parameter) override {
    time([&] { inner_.need(parameter); });
  }
  void give(Parameter<T>& parameter, const SparseFactors<T>& factors) override {
    time([&] { inner_.give(parameter, factors); });
  }
  void finish() override {
    time([&] { inner_.finish(); });
  }
  void need_sum(Parameter<T>& parameter) override {
    time([&] { inner_.need_sum(parameter); });
  }
  bool updates_weights() const override { return inner_.updates_weights(); }
  void share_weights() override {
    time([&] { inner_.share_weights(); });
  }
  void settle() override {
    time([&] { inner_.settle(); });
  }
  bool keeps_ranks_equal() const override { return inner_.keeps_ranks_equal(); }
  bool sums_in_gradients() const override { return inner_.sums_in_gradients(); }
  bool gradients_hold_rate() const override { return inner_.gradients_hold_rate(); }
  Selected selected() const override { return inner_.selected(); }
  double product_seconds() const override { return inner_.product_seconds(); }
  double selection_seconds() const override { return inner_.selection_seconds(); }
  std::string describe() const override { return inner_.describe(); }
  void save(std::ostream& out) const override { inner_.save(out); }
  void load(std::istream& in, std::size_t steps) override { inner_.load(in, steps); }

 private:
  template <class Body>
  void time(const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  Strategy<T>& inner_;
  double seconds_ = 0;
};

}  // namespace dsop::learn
