// Calls every function of dsop.h with arguments drawn from good and bad ones: each call must return a status, with a
// text where it failed, and touch no memory but what it was given. Meant for the address sanitizer (scripts/check).
// Usage: c-fuzz CALLS [SEED]
#include <dsop/dsop.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

std::mt19937 generator;
std::vector<std::uint64_t> handles(1, 0);
std::array<std::uint64_t, 8192> memory;  // what pointers to arrays point to: 64 KiB, more than sizes ask for
std::array<dsop_vector, 64> vectors;
std::array<std::uint64_t, 64> new_handles;
constexpr std::size_t largest_size = 40;

// What says where elements are. Of its own for each call: those that were started read it until they are complete.
struct Places {
  std::array<std::size_t, 16> offsets;    // small numbers, about half of the time rising ones
  std::array<std::uint32_t, 64> indices;  // the same
};
std::deque<Places> places;

std::size_t draw(std::size_t below) {
  return std::uniform_int_distribution<std::size_t>(0, below - 1)(generator);
}

bool one_in(std::size_t n) {
  return draw(n) == 0;
}

template <class T>
T* perhaps(T* pointer) {
  return one_in(6) ? nullptr : pointer;
}

constexpr std::array texts{"",
                           "auto",
                           "ring",
                           "dense",
                           "topk:0.5",
                           "w",
                           "v",
                           "allgather",
                           "scale=0.5",
                           "alpha=2; beta=0.5",
                           "algorithm=ring",
                           "algorithm=ok-topk",
                           "scale=x",
                           "=;=;",
                           "wire=bf16",
                           "factor_wire=bf16",
                           "machine=/no/such/file",
                           "machine=handle:3",
                           "machine=handle:-1",
                           "algorithm=",
                           "latency_seconds",
                           "ring_step_seconds[5]",
                           "accumulate=true; accumulate=true",
                           "density_a=2",
                           "bucket_bytes=64",
                           "run=fuzz; restart=1"};

const char* draw_text() {
  return perhaps(texts[draw(texts.size())]);
}

void draw_places() {
  auto& [offsets, indices] = places.emplace_back();
  for (std::size_t& offset : offsets) offset = draw(8);
  for (std::size_t i = 0, sum = 0; i < offsets.size() && one_in(2); ++i) offsets[i] = sum += i > 0 ? draw(2) : 0;
  for (std::uint32_t& index : indices) index = static_cast<std::uint32_t>(draw(largest_size));
  if (one_in(2)) std::iota(indices.begin(), indices.end(), std::uint32_t{0});
}

dsop_factor draw_factor() {
  return {perhaps(memory.data() + draw(100)),
          draw(8),
          draw(8),
          draw(12),
          one_in(2) ? nullptr : places.back().offsets.data(),
          perhaps(places.back().indices.data()),
          draw(largest_size)};
}

dsop_matrix draw_matrix() {
  return {perhaps(memory.data() + 1000 + draw(100)), draw(8), draw(8), draw(12)};
}

dsop_vector draw_vector() {
  return {draw(largest_size), draw(largest_size), perhaps(places.back().indices.data()), perhaps(memory.data()),
          draw(2)};
}

int body_of_rank(dsop_communicator, void*) {
  return 0;
}
void hear_stall(const char*, void*) {}

// A store that loses what is set, so that nobody waits for other ranks.
int set_nothing(const char*, const char*, void*) {
  return one_in(4) ? -1 : 0;
}
int get_anything(const char*, char* value, std::size_t room, void*) {
  std::fill_n(value, one_in(2) ? room - 1 : 0, 'x');
  return one_in(4) ? -1 : 0;
}
int wait_for_nothing(const char*, double, void*) {
  return static_cast<int>(draw(3)) - 1;
}

// Structures that calls read after they have returned would be a bug of the library: they change with each call.
dsop_factor factors[2];
dsop_matrix matrix;

template <class Parameter>
Parameter argument() {
  if constexpr (std::is_same_v<Parameter, const char*>) {
    return draw_text();
  } else if constexpr (std::is_same_v<Parameter, std::size_t>) {
    return draw(largest_size);
  } else if constexpr (std::is_same_v<Parameter, int>) {
    return static_cast<int>(draw(6)) - 1;
  } else if constexpr (std::is_same_v<Parameter, double>) {
    constexpr std::array numbers{0.0, 1.0, 0.5, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()};
    return numbers[draw(numbers.size())];
  } else if constexpr (std::is_same_v<Parameter, const dsop_factor*>) {
    dsop_factor& factor = factors[draw(2)];
    factor = draw_factor();
    return perhaps(&factor);
  } else if constexpr (std::is_same_v<Parameter, const dsop_matrix*>) {
    matrix = draw_matrix();
    return perhaps(&matrix);
  } else if constexpr (std::is_same_v<Parameter, const dsop_vector*>) {
    for (dsop_vector& vector : vectors) vector = draw_vector();
    return perhaps(vectors.data());
  } else if constexpr (std::is_same_v<Parameter, std::uint64_t*>) {
    return perhaps(new_handles.data() + draw(8));
  } else if constexpr (std::is_same_v<Parameter, const std::size_t*>) {
    return perhaps(places.back().offsets.data());
  } else if constexpr (std::is_same_v<Parameter, int (*)(void)>) {
    return nullptr;
  } else if constexpr (std::is_same_v<Parameter, int (*)(dsop_communicator, void*)>) {
    return perhaps(body_of_rank);
  } else if constexpr (std::is_same_v<Parameter, void (*)(const char*, void*)>) {
    return perhaps(hear_stall);
  } else if constexpr (std::is_same_v<Parameter, int (*)(const char*, const char*, void*)>) {
    return perhaps(set_nothing);
  } else if constexpr (std::is_same_v<Parameter, int (*)(const char*, char*, std::size_t, void*)>) {
    return perhaps(get_anything);
  } else if constexpr (std::is_same_v<Parameter, int (*)(const char*, double, void*)>) {
    return perhaps(wait_for_nothing);
  } else {
    static_assert(std::is_pointer_v<Parameter>);
    return perhaps(reinterpret_cast<Parameter>(memory.data() + 2048 * (1 + draw(3))));
  }
}

// Handles stand first, and are of the same type as sizes.
template <class Parameter>
Parameter first_argument() {
  if constexpr (std::is_same_v<Parameter, std::uint64_t>) {
    return one_in(8) ? draw(1000000) : handles[draw(handles.size())];
  } else {
    return argument<Parameter>();
  }
}

int call_with(int (*function)()) {
  return function();
}
template <class First, class... Others>
int call_with(int (*function)(First, Others...)) {
  return function(first_argument<First>(), argument<Others>()...);
}

template <class... Parameters>
void call(const char* name, int (*function)(Parameters...)) {
  new_handles.fill(0);
  const int status = call_with(function);
  const std::string text = dsop_last_error();
  if (status < DSOP_SUCCESS || status > DSOP_ERROR_OTHER || (status != DSOP_SUCCESS && text.empty())) {
    std::fprintf(stderr, "%s returned %d with the text \"%s\"\n", name, status, text.c_str());
    std::exit(1);
  }
  for (const std::uint64_t handle : new_handles)
    if (status == DSOP_SUCCESS && handle != 0 && handles.size() < 200) handles.push_back(handle);
}

// clang-format off
#define DSOP_FUNCTIONS(use) \
  use(dsop_init) use(dsop_info) use(dsop_set_interrupt) use(dsop_algorithm_count) use(dsop_algorithm_describe) \
  use(dsop_communicator_world) use(dsop_communicator_from_mpi) use(dsop_communicator_from_store) \
  use(dsop_communicator_from_file) use(dsop_communicator_count_traffic) \
  use(dsop_communicator_traffic) use(dsop_communicator_rank) use(dsop_communicator_fail) use(dsop_communicator_free) \
  use(dsop_run_on_threads) use(dsop_set_stall_watch) use(dsop_allreduce) use(dsop_broadcast) use(dsop_reduce) \
  use(dsop_start_allreduce) use(dsop_start_broadcast) use(dsop_start_reduce) use(dsop_wait) use(dsop_test) \
  use(dsop_sum_outer_products) use(dsop_outer_product_create) use(dsop_outer_product_run) \
  use(dsop_outer_product_run_sharded) use(dsop_outer_product_run_rows) use(dsop_outer_product_start) \
  use(dsop_outer_product_plan) use(dsop_outer_product_row_bounds) use(dsop_outer_product_free) use(dsop_rows_get) \
  use(dsop_rows_free) use(dsop_sum_sparse) use(dsop_start_sum_sparse) use(dsop_sum_sparse_regions) \
  use(dsop_sparse_allreduce_create) use(dsop_sparse_allreduce_run) use(dsop_sparse_allreduce_start) \
  use(dsop_sparse_allreduce_free) use(dsop_sum_get) use(dsop_sum_chosen) \
  use(dsop_sum_free) use(dsop_topk_allreduce_create) use(dsop_topk_allreduce_run) use(dsop_topk_allreduce_start) use(dsop_topk_allreduce_state) \
  use(dsop_topk_allreduce_free) use(dsop_synchronizer_create) use(dsop_synchronizer_add) \
  use(dsop_synchronizer_set_policy) use(dsop_synchronizer_begin) use(dsop_synchronizer_give_factors) \
  use(dsop_synchronizer_give_gradient) use(dsop_synchronizer_give_vector) use(dsop_synchronizer_fail) \
  use(dsop_synchronizer_finish) use(dsop_synchronizer_describe) use(dsop_synchronizer_residual) \
  use(dsop_synchronizer_last_step) use(dsop_synchronizer_last_selection) use(dsop_synchronizer_save) use(dsop_synchronizer_load) \
  use(dsop_synchronizer_free) use(dsop_selector_create) use(dsop_selector_select) use(dsop_selector_state) \
  use(dsop_selector_free) use(dsop_machine_default) use(dsop_machine_of) use(dsop_machine_read) use(dsop_machine_write) \
  use(dsop_machine_get) use(dsop_machine_set) use(dsop_machine_check) use(dsop_machine_seconds) \
  use(dsop_machine_free) use(dsop_plan_outer_products) use(dsop_plan_sparse) use(dsop_plan_topk)
// clang-format on

#define DSOP_CALL(name) [] { call(#name, name); },

constexpr void (*functions[])() = {DSOP_FUNCTIONS(DSOP_CALL)};

}  // namespace

int main(int count, char** words) {
  const long calls = count > 1 ? std::atol(words[1]) : 10000;
  generator.seed(count > 2 ? static_cast<unsigned>(std::atol(words[2])) : 1);
  if (chdir("/proc") != 0) return 1;  // where no call can write a file
  for (long i = 0; i < calls; ++i) {
    draw_places();
    functions[draw(std::size(functions))]();
  }
  std::printf("%ld calls of %zu functions\n", calls, std::size(functions));
  return 0;
}
