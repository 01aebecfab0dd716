// Calls every function of dsop.h with arguments drawn from good and bad ones: each call must return a status, with a
// text where it failed, and touch no memory but what it was given; of many calls of a function one must succeed. Meant
// for the address sanitizer (scripts/check). Usage: c-fuzz CALLS [SEED]
#include "c_fuzz_arguments.hpp"

#include <dsop/dsop.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace {

using namespace fuzz;

int call_with(int (*function)(), bool) {
  return function();
}
template <class First, class... Others>
int call_with(int (*function)(First, Others...), bool takes_handle) {
  return std::apply(function, std::tuple{first_argument<First>(takes_handle), argument<Others>()...});  // in this order
}

void keep(std::uint64_t handle, std::vector<std::uint64_t>& among) {
  if (among.size() < most_handles)
    among.push_back(handle);
  else
    among[draw(most_handles)] = handle;
}

bool frees(std::string_view name) {
  return name.ends_with("_free");
}

template <class... Parameters>
bool succeeds(const char* name, unsigned takes, unsigned gives, int (*function)(Parameters...)) {
  new_handles.fill(0);
  taken_kind = takes;
  texts_drawn = 0;
  const int status = call_with(function, takes != nothing);
  const std::string text = dsop_last_error();
  if (status < DSOP_SUCCESS || status > DSOP_ERROR_OTHER || (status != DSOP_SUCCESS && text.empty())) {
    std::fprintf(stderr, "%s returned %d with the text \"%s\"\n", name, status, text.c_str());
    std::exit(1);
  }
  if (status != DSOP_SUCCESS) return false;
  if (frees(name)) std::erase(handles_of(takes), taken);
  for (std::size_t kind = 0; kind < kinds; ++kind)
    for (const std::uint64_t handle : new_handles)
      if (handle != 0 && (gives >> kind & 1) != 0) keep(handle, handles[kind]);
  return true;
}

struct Function {
  const char* name;
  bool (*succeeds)();
  long successes = 0;
};

#define DSOP_FUNCTION(name, takes, gives)                     \
  {                                                           \
#name, [] { return succeeds(#name, takes, gives, name); } \
  }

Function functions[] = {
    DSOP_FUNCTION(dsop_init, nothing, nothing),
    DSOP_FUNCTION(dsop_info, nothing, nothing),
    DSOP_FUNCTION(dsop_set_interrupt, nothing, nothing),
    DSOP_FUNCTION(dsop_algorithm_count, nothing, nothing),
    DSOP_FUNCTION(dsop_algorithm_describe, nothing, nothing),
    DSOP_FUNCTION(dsop_communicator_world, nothing, communicator),
    DSOP_FUNCTION(dsop_communicator_from_mpi, nothing, communicator),
    DSOP_FUNCTION(dsop_communicator_from_store, nothing, communicator),
    DSOP_FUNCTION(dsop_communicator_from_file, nothing, communicator),
    DSOP_FUNCTION(dsop_communicator_count_traffic, communicator, communicator),
    DSOP_FUNCTION(dsop_communicator_traffic, communicator, nothing),
    DSOP_FUNCTION(dsop_communicator_rank, communicator, nothing),
    DSOP_FUNCTION(dsop_communicator_fail, communicator, nothing),
    DSOP_FUNCTION(dsop_communicator_free, communicator, nothing),
    DSOP_FUNCTION(dsop_run_on_threads, nothing, nothing),
    DSOP_FUNCTION(dsop_set_stall_watch, communicator, nothing),
    DSOP_FUNCTION(dsop_arrivals, communicator, nothing),
    DSOP_FUNCTION(dsop_allreduce, communicator, nothing),
    DSOP_FUNCTION(dsop_broadcast, communicator, nothing),
    DSOP_FUNCTION(dsop_reduce, communicator, nothing),
    DSOP_FUNCTION(dsop_start_allreduce, communicator, pending),
    DSOP_FUNCTION(dsop_start_broadcast, communicator, pending),
    DSOP_FUNCTION(dsop_start_reduce, communicator, pending),
    DSOP_FUNCTION(dsop_wait, pending, nothing),
    DSOP_FUNCTION(dsop_test, pending, nothing),
    DSOP_FUNCTION(dsop_sum_outer_products, communicator, nothing),
    DSOP_FUNCTION(dsop_last_plan, communicator, nothing),
    DSOP_FUNCTION(dsop_outer_product_create, communicator, layer),
    DSOP_FUNCTION(dsop_outer_product_run, layer, nothing),
    DSOP_FUNCTION(dsop_outer_product_run_sharded, layer, nothing),
    DSOP_FUNCTION(dsop_outer_product_run_rows, layer, rows),
    DSOP_FUNCTION(dsop_outer_product_start, layer, pending),
    DSOP_FUNCTION(dsop_outer_product_plan, layer, nothing),
    DSOP_FUNCTION(dsop_outer_product_row_bounds, layer, nothing),
    DSOP_FUNCTION(dsop_outer_product_free, layer, nothing),
    DSOP_FUNCTION(dsop_rows_get, rows, nothing),
    DSOP_FUNCTION(dsop_rows_free, rows, nothing),
    DSOP_FUNCTION(dsop_sum_sparse, communicator, sum),
    DSOP_FUNCTION(dsop_start_sum_sparse, communicator, sum | pending),
    DSOP_FUNCTION(dsop_sparse_allreduce_create, communicator, sparse),
    DSOP_FUNCTION(dsop_sparse_allreduce_run, sparse, sum),
    DSOP_FUNCTION(dsop_sparse_allreduce_start, sparse, sum | pending),
    DSOP_FUNCTION(dsop_sparse_allreduce_free, sparse, nothing),
    DSOP_FUNCTION(dsop_sum_get, sum, nothing),
    DSOP_FUNCTION(dsop_sum_chosen, sum, nothing),
    DSOP_FUNCTION(dsop_sum_free, sum, nothing),
    DSOP_FUNCTION(dsop_topk_allreduce_create, communicator, topk),
    DSOP_FUNCTION(dsop_topk_allreduce_run, topk, sum),
    DSOP_FUNCTION(dsop_topk_allreduce_start, topk, sum | pending),
    DSOP_FUNCTION(dsop_topk_allreduce_state, topk, nothing),
    DSOP_FUNCTION(dsop_topk_allreduce_free, topk, nothing),
    DSOP_FUNCTION(dsop_synchronizer_create, communicator, synchronizer),
    DSOP_FUNCTION(dsop_synchronizer_add, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_set_policy, synchronizer, nothing),
    DSOP_FUNCTION(dsop_policy_selects, nothing, nothing),
    DSOP_FUNCTION(dsop_synchronizer_begin, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_give_factors, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_give_gradient, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_give_vector, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_fail, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_finish, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_describe, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_residual, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_reset_residuals, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_last_step, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_last_selection, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_save, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_load, synchronizer, nothing),
    DSOP_FUNCTION(dsop_synchronizer_free, synchronizer, nothing),
    DSOP_FUNCTION(dsop_selector_create, nothing, selector),
    DSOP_FUNCTION(dsop_selector_select, selector, nothing),
    DSOP_FUNCTION(dsop_selector_last, selector, nothing),
    DSOP_FUNCTION(dsop_selector_state, selector, nothing),
    DSOP_FUNCTION(dsop_selector_free, selector, nothing),
    DSOP_FUNCTION(dsop_machine_default, nothing, machine),
    DSOP_FUNCTION(dsop_machine_of, communicator, machine),
    DSOP_FUNCTION(dsop_machine_read, nothing, machine),
    DSOP_FUNCTION(dsop_machine_write, machine, nothing),
    DSOP_FUNCTION(dsop_machine_text, machine, nothing),
    DSOP_FUNCTION(dsop_machine_of_text, nothing, machine),
    DSOP_FUNCTION(dsop_machine_seconds, machine, nothing),
    DSOP_FUNCTION(dsop_machine_free, machine, nothing),
    DSOP_FUNCTION(dsop_plan_outer_products, nothing, nothing),
    DSOP_FUNCTION(dsop_plan_sparse, nothing, nothing),
    DSOP_FUNCTION(dsop_plan_topk, nothing, nothing),
};

constexpr long enough_calls = 50000;  // for each function to succeed at least once

// MPI does not run, the store loses what is set, files can't be had, no bytes are what save() gave, no text a
// machine's.
bool never_succeeds(std::string_view name) {
  return name.starts_with("dsop_communicator_from_") || name == "dsop_communicator_fail" ||
         name == "dsop_machine_read" || name == "dsop_machine_of_text" || name == "dsop_machine_write" ||
         name == "dsop_synchronizer_load";
}

}  // namespace

int main(int count, char** words) {
  const long calls = count > 1 ? std::atol(words[1]) : 10000;
  generator.seed(count > 2 ? static_cast<unsigned>(std::atol(words[2])) : 1);
  if (chdir("/proc") != 0) return 1;  // where no call can write a file
  for (long i = 0; i < calls; ++i) {
    wild_one_in = std::array<std::size_t, 3>{1, 4, 100}[draw(3)];
    draw_places();
    Function& function = functions[draw(std::size(functions))];
    if (frees(function.name) && !one_in(4)) continue;  // or little would live
    function.successes += function.succeeds() ? 1 : 0;
  }
  bool all_succeed = true;
  for (const Function& function : functions) {
    if (function.successes > 0 || calls < enough_calls || never_succeeds(function.name)) continue;
    std::fprintf(stderr, "no call of %s has succeeded\n", function.name);
    all_succeed = false;
  }
  std::printf("%ld calls of %zu functions\n", calls, std::size(functions));
  return all_succeed ? 0 : 1;
}
