#include "learn/training/reports.hpp"

namespace dsop::learn {

StepReports::StepReports(Transport& transport)
    : place_(static_cast<std::size_t>(transport.size())),
      all_(place_.size(), numbers_.size()),
      gather_(transport, {.rows = place_.size(), .columns = numbers_.size()}) {
  place_[static_cast<std::size_t>(transport.rank())] = 1;
}

void StepReports::start(const OwnReport& own) {
  own_ = own;
  numbers_ = {own.loss, own.arithmetic_seconds, own.communication_seconds};
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
