// How the ranks agree on a call of an outer product, and find or make its plan.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include <dsop/types.hpp>

#include "algorithms/outer_product/family.hpp"
#include "algorithms/outer_product/ride.hpp"
#include "sparse/factor.hpp"

namespace dsop {
namespace {

// The largest rank's that gives sparse factors, if the algorithm does not take them.
std::size_t expanded_pairs(const Call& call, const Plan& plan) {
  std::size_t pairs = 0;
  for (const Record& record : call.records())
    if (record.may_expand != 0) pairs = std::max(pairs, std::size_t{record.pairs});
  return plan.problem.sparsity.empty() ? pairs : 0;
}

bool is_started(const Call& call) {
  return call.any([](const Record& record) { return record.on_progress_thread != 0; });
}

// What later calls keep to, of a plan for the algorithm that the caller named, or `auto`. A parameter that was measured
// stays: the formula's may be another one for fewer pairs.
std::string to_keep(const Plan& plan, const std::string& asked) {
  if (asked != "auto") return asked;
  return plan.auto_is_measured ? plan.algorithm_text() : plan.algorithm_name();
}

bool is_near(std::size_t pairs, std::size_t chosen_for) {
  return pairs <= 2 * chosen_for && chosen_for <= 2 * pairs;
}

}  // namespace

// If the caller names no algorithm, DSOP_ALGORITHM may name one. A layer reads it once.
template <class T>
const std::string& OuterProductCalls<T>::named_algorithm(Call& call, const Options& options) {
  if (options.algorithm != "auto") return options.algorithm;
  if (prepared_.algorithm.empty())
    call.check([&] {
      const char* const name = std::getenv("DSOP_ALGORITHM");
      environment_ = name == nullptr || *name == 0 ? "auto" : name;
      if (environment_ != "auto") parse_algorithm(environment_, "DSOP_ALGORITHM", outer_product_algorithms());
    });
  return environment_;
}

template <class T>
void OuterProductCalls<T>::say(Call& call, const Terms& terms) {
  call.same("rows", terms.rows)
      .same("columns", terms.columns)
      .same("algorithm", std::string_view(terms.algorithm))
      .same_now("scale", terms.options.scale)
      .same_now("alpha", terms.options.alpha)
      .same_now("beta", terms.options.beta.value_or(0))
      .same("accumulate", terms.options.accumulate)
      .same("wire", terms.options.wire)
      .same("factor_wire", terms.options.factor_wire)
      .same("allow_native", terms.options.allow_native)
      .same_now("tries", terms.options.tries)
      .same_machine(terms.options.machine, terms.algorithm == "auto");
}

template <class T>
Problem OuterProductCalls<T>::problem_of(const Call& call, const Terms& terms) {
  Problem problem{.rows = terms.rows, .columns = terms.columns, .type = data_type<T>};
  problem.native_collectives = call.transport().has_native_collectives();
  problem.wire = terms.options.wire;
  problem.factor_wire = terms.options.factor_wire;
  problem.allow_native = terms.options.allow_native;
  problem.native_sums_vary = problem.native_collectives && !call.transport().native_sums_have_same_bits();
  problem.sharded = terms.sharded;
  problem.rows_only = terms.rows_only;
  problem.started = is_started(call);
  problem.nodes = call.ranks().nodes;
  for (const Record& record : call.records()) {
    problem.pairs.push_back(record.pairs);
    problem.sparsity.push_back(record.sparsity());
    problem.staged_result |= record.result_aside != 0;
    problem.given_sparse |= record.may_expand != 0;
  }
  if (!problem.rows_only && !call.any([](const Record& record) { return record.sparsity() != Sparsity{}; }))
    problem.sparsity.clear();
  return problem;
}

// A layer keeps the algorithms that it was prepared with. dsop() keeps the one in use while all ranks' pairs are at
// most twice, and at least half, of those that it was chosen for.
template <class T>
std::string OuterProductCalls<T>::algorithm_for(const Terms& terms, bool started, std::size_t pairs,
                                                const InUse* in_use) const {
  if (terms.sharded || terms.rows_only) return terms.algorithm;
  if (!prepared(started).algorithm.empty()) return prepared(started).algorithm;
  if (in_use != nullptr && is_near(pairs, in_use->pairs)) return in_use->algorithm;
  return terms.algorithm;
}

template <class T>
void OuterProductCalls<T>::agree_and_plan(Call& call, const Terms& terms, const SparseFactors<T>* factors) {
  call.same_now("the state of its tries", std::string_view(tried_));
  say(call, terms);
  if (factors != nullptr) {
    call.own().pairs = sparse::rows_of(factors->a) & Record::dense;
    const std::string& kept = prepared(call.own().on_progress_thread != 0).algorithm;
    const std::string& algorithm = kept.empty() ? terms.algorithm : kept;
    if (!terms.sharded && !terms.rows_only && !tries_.goes_on() && (algorithm == "auto" || algorithm == "allgather"))
      outer_product::ride(call, *factors, terms.options.factor_wire);
  }
  call.agree();
  shown_.reset();
  if (tries_.goes_on() && !terms.sharded && !terms.rows_only) next_try(call.records());
  try {
    find_or_make(call, terms, factors == nullptr);
  } catch (...) {  // some ranks may have kept what others have not
    in_use_.clear();
    plans_.clear_but(made_);  // plan() still shows it
    throw;
  }
  call.rides_next_time(tries_.goes_on() ? 0 : made_->riding_bytes);
}

// Plans are functions of what all ranks have said, so all ranks make the same, and come to the same exchanges. Only
// memory may fail on one rank alone: of a shape's first call that is an error on all ranks. Later, that rank throws
// alone, since an exchange for each new number of pairs would cost more than it is worth.
template <class T>
void OuterProductCalls<T>::find_or_make(Call& call, const Terms& terms, bool prepares) {
  const std::size_t shape_length = call.key().size();
  const std::uint64_t digest = call.add_numbers_to_key();
  const auto shape = std::span(call.key()).first(shape_length);
  const Made* made = plans_.find(call.key(), digest);
  bool is_first = false;
  std::string error;
  if (made == nullptr) {
    std::size_t pairs = 0;
    for (const Record& record : call.records()) pairs += record.pairs;
    InUse* const in_use = in_use_.find(shape, call.key_digest());
    is_first = in_use == nullptr;
    const auto make_and_keep = [&] {
      made =
          &plans_.insert(call.key(), digest, make(call, terms, algorithm_for(terms, is_started(call), pairs, in_use)));
      const InUse now{to_keep(made->plan, terms.algorithm), pairs};
      if (is_first)
        in_use_.insert(shape, call.key_digest(), now);
      else if (!is_near(pairs, in_use->pairs))
        *in_use = now;
      if (!prepares) return;
      made_ = made;
      keep_choice(call, terms);
    };
    try {
      make_and_keep();
    } catch (const std::bad_alloc&) {
      if (!is_first) throw;
      error = "no memory for a plan";
    } catch (const std::exception& problem) {
      error = problem.what();
    }
  }
  const std::size_t pairs = error.empty() ? made->plan.pair_bounds.back() : 0;
  if (is_first || !error.empty() || call.must_grow(made->memory_bytes, pairs))
    call.together([&] {
      if (!error.empty()) throw Error(error);
      call.grow(made->memory_bytes, pairs);
    });
  made_ = made;
}

template <class T>
void OuterProductCalls<T>::keep_choice(const Call& call, const Terms& terms) {
  prepared_ = {to_keep(made_->plan, terms.algorithm), made_->plan.reason};
  started_.reset();
  const bool may_differ = call.machine().hidden_share > 0 && call.ranks().all_allow_progress_thread;
  if (terms.algorithm == "auto" && may_differ) {
    Problem started = made_->problem;
    started.started = true;
    const Plan plan =
        outer_product::make_plan(started, call.machine(), terms.algorithm, call.shared_method(), Evaluated::all);
    const std::string algorithm = to_keep(plan, terms.algorithm);
    if (algorithm != prepared_.algorithm) started_ = std::make_unique<Prepared>(Prepared{algorithm, plan.reason});
  }
  if (terms.algorithm == "auto" && terms.options.tries > 0) begin_tries(terms.options.tries);
}

// Of what may be taken without being named. Factors that ride in the agreement need no tries; and since none ride while
// tries last, what would ride is not tried where it was not taken.
template <class T>
void OuterProductCalls<T>::begin_tries(int each) {
  if (made_->riding_bytes > 0) return;
  std::vector<std::string> near;
  double best_seconds = 0;
  for (const Candidate& candidate : plan().candidates) {
    if (!candidate.unsupported.empty() || candidate.rides) continue;
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
    settle();
    return;
  }
  run_by(tries_.next(), "predicted to be near the best: tried");
  tried_ = std::to_string(tries_.left()) + " turns";
}

template <class T>
const std::string& OuterProductCalls<T>::settle() {
  if (tries_.goes_on()) keep(std::string(tries_.fastest()));
  return tried_;
}

template <class T>
void OuterProductCalls<T>::keep(const std::string& algorithm) {
  if (made_ == nullptr) return;  // no factors will come
  run_by(algorithm, "measured to be the fastest of those that were tried");
  tried_ = algorithm;
  tries_ = {};
}

// Kept plans are found by what ranks say, not by the algorithm whose turn it is: those of the last go.
template <class T>
void OuterProductCalls<T>::run_by(const std::string& algorithm, const char* reason) {
  prepared_ = {algorithm, reason};
  started_.reset();
  shown_.reset();
  plans_.clear_but(made_);  // what plan() shows until the next call, and after one that fails
}

template <class T>
auto OuterProductCalls<T>::make(const Call& call, const Terms& terms, const std::string& algorithm) const -> Made {
  Made made{.problem = problem_of(call, terms)};
  made.plan = outer_product::make_plan(made.problem, call.machine(), algorithm, call.shared_method(),
                                       algorithm == "auto" ? Evaluated::all : Evaluated::named);
  Plan& plan = made.plan;
  const std::string chosen = plan.algorithm_text();
  std::erase_if(plan.candidates, [&](const Candidate& candidate) { return candidate.algorithm != chosen; });
  const Prepared& kept = prepared(made.problem.started);
  if (!kept.algorithm.empty() && !terms.sharded) plan.reason = kept.reason;
  if (terms.rows_only) plan.reason = "the only one that computes rows alone";
  plan.threads = static_cast<int>(call.records()[0].threads);
  plan.runs_at_wait = !call.ranks().all_allow_progress_thread;
  made.expanded_pairs = expanded_pairs(call, plan);
  made.memory_bytes = outer_product::workspace_bytes(plan, made.expanded_pairs);
  if (plan.chosen().rides) made.riding_bytes = outer_product::riding_bytes(made.problem);
  return made;
}

template <class T>
const Plan& OuterProductCalls<T>::plan() const {
  if (!shown_) {
    const Plan& plan = made_->plan;
    shown_ = plan;
    Plan all = outer_product::make_plan(made_->problem, plan.machine, plan.algorithm_text(), plan.shared_method,
                                        Evaluated::all);
    shown_->candidates = std::move(all.candidates);
    shown_->auto_choice = std::move(all.auto_choice);
  }
  return *shown_;
}

#define INSTANTIATE(T) template class OuterProductCalls<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
