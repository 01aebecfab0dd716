#include "learn/training/reports.hpp"

#include <cmath>

namespace dsop::learn {

StepReports::StepReports(Transport& transport)
    : place_(static_cast<std::size_t>(transport.size())),
      all_(place_.size(), numbers_.size()),
      gather_(transport, {.rows = place_.size(), .columns = numbers_.size()}) {
  place_[static_cast<std::size_t>(transport.rank())] = 1;
}

void StepReports::start(const OwnReport& own) {
  own_ = own;
  // What is not finite would spoil every rank's row: 0 times it is NaN.
  const bool is_finite = std::isfinite(own.loss);
  numbers_ = {is_finite ? own.loss : 0, own.arithmetic_seconds, own.communication_seconds, is_finite ? 0.0 : 1.0};
  started_ = gather_.start(Factors<double>{{place_.data(), 1, place_.size()}, {numbers_.data(), 1, numbers_.size()}},
                           all_.view());
}

const OwnReport& StepReports::collect() {
  started_.wait();
  collected_ = *own_;
  own_.reset();
  return collected_;
}

}  // namespace dsop::learn
