// What a layer keeps to: the algorithm that was chosen for it, or that was the fastest of those that were tried.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dsop/types.hpp>

#include "algorithms/outer_product/operation.hpp"

namespace dsop {

template <class T>
void OuterProductCalls<T>::keep_choice(const Call& call, const PlanEntry& made, const std::string& asked, int tries) {
  prepared_ = {outer_product::to_keep(made.plan, asked), made.plan.reason};
  started_.reset();
  if (asked != "auto") return;
  if (call.machine().hidden_share > 0 && call.ranks().all_allow_progress_thread) {
    Problem started = made.problem;
    started.started = true;
    const Plan plan = outer_product::make_plan(started, call.machine(), asked, call.shared_method(), Evaluated::all);
    const std::string algorithm = outer_product::to_keep(plan, asked);
    if (algorithm != prepared_.algorithm) started_ = std::make_unique<Prepared>(Prepared{algorithm, plan.reason});
  }
  if (tries > 0) begin_tries(made, tries);
}

// Of what may be taken without being named. Factors that ride in the agreement need no tries; and since none ride while
// tries last, what would ride is not tried where it was not taken.
template <class T>
void OuterProductCalls<T>::begin_tries(const PlanEntry& made, int each) {
  if (made.piggyback_bytes > 0) return;
  std::vector<std::string> near;
  double best_seconds = 0;
  for (const Candidate& candidate : with_all_candidates(made).candidates) {
    if (!candidate.unsupported.empty() || candidate.piggybacks) continue;
    if (is_native(*parse_algorithm(candidate.algorithm, "algorithm", outer_product_algorithms()).algorithm)) continue;
    if (near.empty()) best_seconds = compared_seconds(candidate);
    if (compared_seconds(candidate) <= outer_product::Tries::near * best_seconds) near.push_back(candidate.algorithm);
  }
  if (near.size() < 2) return;
  tries_ = outer_product::Tries(std::move(near), each);
  tried_ = std::to_string(tries_.left()) + " turns";
}

template <class T>
void OuterProductCalls<T>::next_try(std::span<const Record> records) {
  tries_.take_times(records);
  if (tries_.left() == 0) {
    finish_tries();
    return;
  }
  run_by(tries_.next(), "predicted to be near the best: tried");
  tried_ = std::to_string(tries_.left()) + " turns";
}

template <class T>
const std::string& OuterProductCalls<T>::finish_tries() {
  if (tries_.active()) keep(std::string(tries_.fastest()));
  return tried_;
}

template <class T>
void OuterProductCalls<T>::keep(const std::string& algorithm) {
  if (!has_plan()) return;  // no factors will come
  run_by(algorithm, "measured to be the fastest of those that were tried");
  tried_ = algorithm;
  tries_ = {};
}

template <class T>
void OuterProductCalls<T>::run_by(const std::string& algorithm, const char* reason) {
  prepared_ = {algorithm, reason};
  started_.reset();
  shown_.reset();
  ++turn_;
}

template <class T>
Plan OuterProductCalls<T>::with_all_candidates(const PlanEntry& made) {
  const Plan all =
      outer_product::make_plan(made.problem, made.plan.machine, made.text, made.plan.shared_method, Evaluated::all);
  Plan shown = made.plan;
  shown.candidates = all.candidates;
  shown.auto_choice = all.auto_choice;
  return shown;
}

template <class T>
const Plan& OuterProductCalls<T>::plan() const {
  if (!shown_) shown_ = with_all_candidates(*planned_.last());
  shown_->measured = planned_.measured();
  return *shown_;
}

#define INSTANTIATE(T) template class OuterProductCalls<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
