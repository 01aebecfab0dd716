#include "learn/training/reports.hpp"

#include "patterns/of_all_ranks.hpp"
#include "transport/start_call.hpp"

namespace dsop::learn {

void StepReports::start(const OwnReport& own) {
  own_ = own;
  started_ = Pending(start_call(transport_, [this] { all_ = patterns::of_all_ranks<RankReport>(transport_, *own_); }));
}

const OwnReport& StepReports::collect() {
  started_.wait();
  collected_ = *own_;
  own_.reset();
  return collected_;
}

}  // namespace dsop::learn
