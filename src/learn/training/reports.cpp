#include "learn/training/reports.hpp"

#include "patterns/of_all_ranks.hpp"
#include "transport/call_state.hpp"

namespace dsop::learn {

void StepReports::start(const OwnReport& own) {
  own_ = own;
  started_ = Pending(transport_.calls().queue->start(
      [this] { all_ = patterns::of_all_ranks<RankReport>(transport_, *own_); }, transport_.allows_progress_thread()));
}

const OwnReport& StepReports::collect() {
  started_.wait();
  collected_ = *own_;
  own_.reset();
  return collected_;
}

}  // namespace dsop::learn
