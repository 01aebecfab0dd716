// What a layer's first call chooses for those that follow, and the plan as it is shown.
#include <memory>
#include <string>

#include <dsop/types.hpp>

#include "algorithms/outer_product/operation.hpp"

namespace dsop {

template <class T>
void OuterProductCalls<T>::keep_choice(const Call& call, const PlanEntry& made, const std::string& asked) {
  prepared_ = {outer_product::to_keep(made.plan, asked), made.plan.reason};
  started_.reset();
  if (asked != "auto" || call.machine().hidden_share == 0 || !call.ranks().all_allow_progress_thread) return;
  Problem started = made.problem;
  started.started = true;
  const Plan plan = outer_product::make_plan(started, call.machine(), asked, call.shared_method(), Evaluated::all);
  const std::string algorithm = outer_product::to_keep(plan, asked);
  if (algorithm != prepared_.algorithm) started_ = std::make_unique<Prepared>(Prepared{algorithm, plan.reason});
}

template <class T>
const Plan& OuterProductCalls<T>::plan() const {
  const PlanEntry& made = *planned_.last();
  if (!shown_) {
    shown_ = made.plan;
    const Plan all =
        outer_product::make_plan(made.problem, made.plan.machine, made.text, made.plan.shared_method, Evaluated::all);
    shown_->candidates = all.candidates;
    shown_->auto_choice = all.auto_choice;
  }
  shown_->measured = planned_.measured();
  return *shown_;
}

#define INSTANTIATE(T) template class OuterProductCalls<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
