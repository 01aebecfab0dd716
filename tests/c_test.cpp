// dsop.h on one rank and on ranks that are threads: statuses, texts and handles.
#include <dsop/dsop.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "c_errors.hpp"
#include "environment.hpp"

namespace {

using dsop::tests::contains, dsop::tests::Environment, dsop::tests::error_of;

dsop_communicator everybody() {
  dsop_communicator communicator = 0;
  REQUIRE(dsop_communicator_world(&communicator) == DSOP_SUCCESS);
  return communicator;
}

struct Texts {
  std::array<std::string, 3> of_rank;
};

// Rank 1 gives wrong options; returns each rank's error, then all make a good call.
int give_wrong_options(dsop_communicator communicator, void* data) {
  int rank = 0;
  std::vector<double> values{1, 2, 3};
  dsop_communicator_rank(communicator, &rank, nullptr);
  const char* const options = rank == 1 ? "algorithm=ring; speed=high" : "algorithm=ring";
  if (dsop_allreduce(communicator, DSOP_F64, values.data(), values.size(), options) != DSOP_ERROR_ARGUMENT) return 1;
  static_cast<Texts*>(data)->of_rank[static_cast<std::size_t>(rank)] = dsop_last_error();
  if (dsop_allreduce(communicator, DSOP_F64, values.data(), values.size(), "algorithm=ring") != DSOP_SUCCESS) return 2;
  return values == std::vector<double>{3, 6, 9} ? 0 : 3;
}

int leave_handles(dsop_communicator communicator, void* data) {
  auto* const kept = static_cast<dsop_communicator*>(data);
  kept[0] = communicator;
  const int status = dsop_outer_product_create(communicator, DSOP_F32, 2, 2, 1, nullptr, &kept[1]);
  return status != DSOP_SUCCESS ? status : dsop_synchronizer_create(communicator, DSOP_F32, nullptr, &kept[2]);
}

int fail_on_rank_1(dsop_communicator communicator, void*) {
  int rank = 0;
  double value = 1;
  dsop_communicator_rank(communicator, &rank, nullptr);
  if (rank == 1) return 7;
  return dsop_allreduce(communicator, DSOP_F64, &value, 1, nullptr);
}

// Rank 1 does not come to the call; what rank 0 is told of its next one stands in `data`.
int call_after_a_stall(dsop_communicator communicator, void* data) {
  int rank = 0;
  double value = 1;
  dsop_communicator_rank(communicator, &rank, nullptr);
  static std::atomic<bool> is_over;
  is_over = false;
  if (rank == 1) {
    while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return 0;
  }
  dsop_set_stall_watch(communicator, 0.1, nullptr, nullptr, 1);
  int status = dsop_allreduce(communicator, DSOP_F64, &value, 1, nullptr);
  if (status == DSOP_ERROR_TRANSPORT) status = dsop_allreduce(communicator, DSOP_F64, &value, 1, nullptr);
  *static_cast<std::string*>(data) = dsop_last_error();
  is_over = true;
  return status == DSOP_ERROR_TRANSPORT ? 0 : 1;
}

int make_started_sums(dsop_communicator communicator, void*) {
  int rank = 0;
  dsop_communicator_rank(communicator, &rank, nullptr);
  const std::uint32_t index = static_cast<std::uint32_t>(rank);
  const double one = 1;
  dsop_sparse_allreduce object = 0;
  dsop_topk_allreduce topk = 0;
  std::array<double, 4> values{5, 0.5, -7, 0.25};
  std::array<dsop_sum, 3> sums{};
  std::array<dsop_pending, 3> pending{};
  if (dsop_sparse_allreduce_create(communicator, DSOP_F64, nullptr, &object) != 0) return 1;
  if (dsop_topk_allreduce_create(communicator, DSOP_F64, 4, "algorithm=ok-topk", nullptr, &topk) != 0) return 2;
  {
    const dsop_vector own{4, 1, &index, &one};  // is needed for the starts alone
    if (dsop_start_sum_sparse(communicator, DSOP_F64, &own, nullptr, sums.data(), pending.data()) != 0) return 3;
    if (dsop_sparse_allreduce_start(object, &own, &sums[1], &pending[1]) != 0) return 4;
  }
  if (dsop_topk_allreduce_start(topk, values.data(), 4, 2, &sums[2], &pending[2]) != 0) return 5;
  if (dsop_sum_get(sums[2], nullptr, nullptr) != DSOP_ERROR_ARGUMENT) return 6;  // nobody has waited for it
  dsop_sum another = 0;
  if (dsop_topk_allreduce_run(topk, values.data(), 4, 2, &another) != DSOP_ERROR_ARGUMENT) return 7;
  if (!std::string(dsop_last_error()).ends_with("expected dsop_wait() before it runs again")) return 8;
  for (const dsop_pending call : {pending[2], pending[0], pending[1]})
    if (dsop_wait(call) != 0) return 9;
  dsop_sparse_allreduce_free(object);
  for (int i = 0; i < 2; ++i) {
    dsop_vector sum{};
    if (dsop_sum_get(sums[static_cast<std::size_t>(i)], &sum, nullptr) != 0 || sum.dimension != 4) return 10;
    double total = 0;
    for (std::size_t j = 0; j < sum.count; ++j) total += static_cast<const double*>(sum.values)[j];
    if (total != 3) return 11;
  }
  size_t chosen = 0, took_part = 0;
  int evaluated_local = 0, evaluated_global = 0;
  const std::uint32_t* indices = nullptr;
  dsop_topk_allreduce_free(topk);  // what the sum shows of it stays
  if (dsop_sum_chosen(sums[2], &chosen, nullptr, nullptr, &indices, &took_part, &evaluated_local, &evaluated_global) !=
      0)
    return 12;
  if (chosen != 2 || took_part != 2 || indices[0] != 0 || indices[1] != 2) return 13;
  if (evaluated_local != 1 || evaluated_global != 1) return 14;
  if (values != std::array<double, 4>{0, 0.5, 0, 0.25}) return 15;
  for (const dsop_sum sum : sums) dsop_sum_free(sum);
  return 0;
}

// Rank 0 frees what counts while its call waits for rank 1's.
int free_what_counts(dsop_communicator communicator, void*) {
  int rank = 0;
  dsop_communicator counting = 0;
  if (dsop_communicator_rank(communicator, &rank, nullptr) != 0) return 1;
  if (dsop_communicator_count_traffic(communicator, &counting) != 0) return 2;
  if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::array<double, 2> values{1, 2};
  dsop_pending pending = 0;
  if (dsop_start_allreduce(counting, DSOP_F64, values.data(), values.size(), nullptr, &pending) != 0) return 3;
  if (dsop_communicator_free(counting) != 0) return 4;
  if (dsop_wait(pending) != 0) return 5;
  return values == std::array<double, 2>{2, 4} ? 0 : 6;
}

}  // namespace

TEST_CASE("to free what counts waits for the calls that were started through it") {
  CHECK(dsop_run_on_threads(2, free_what_counts, nullptr, 1) == DSOP_SUCCESS);
}

TEST_CASE("started sparse and top-k sums") {
  CHECK(dsop_run_on_threads(3, make_started_sums, nullptr, 1) == DSOP_SUCCESS);
}

TEST_CASE("sums and started calls that outlive what made them") {
  const dsop_communicator communicator = everybody();
  std::array<double, 4> values{5, 0.5, -7, 0.25};
  dsop_topk_allreduce topk = 0;
  dsop_sum sum = 0;
  dsop_pending pending = 0;
  REQUIRE(dsop_topk_allreduce_create(communicator, DSOP_F64, 4, nullptr, nullptr, &topk) == DSOP_SUCCESS);
  REQUIRE(dsop_topk_allreduce_start(topk, values.data(), 4, 2, &sum, &pending) == DSOP_SUCCESS);
  CHECK(dsop_sum_free(sum) == DSOP_SUCCESS);
  CHECK(dsop_topk_allreduce_free(topk) == DSOP_SUCCESS);
  CHECK(dsop_wait(pending) == DSOP_SUCCESS);
  CHECK(contains(error_of(dsop_wait(pending)), "is dead"));
  CHECK(contains(error_of(dsop_sum_get(sum, nullptr, nullptr)), "is dead"));
  CHECK(values == std::array<double, 4>{0, 0.5, 0, 0.25});
}

TEST_CASE("alpha and beta") {
  const dsop_communicator communicator = everybody();
  const std::array<double, 2> ones{1, 1};
  std::array<double, 4> target{10, 10, 10, 10};
  const dsop_factor factor{ones.data(), 1, 2, 0, nullptr, nullptr, 0};
  const dsop_matrix matrix{target.data(), 2, 2, 0};
  REQUIRE(dsop_sum_outer_products(communicator, DSOP_F64, &factor, &factor, &matrix, "scale=4; alpha=-0.5; beta=0.5") ==
          DSOP_SUCCESS);
  CHECK(target == std::array<double, 4>{3, 3, 3, 3});
  CHECK(contains(error_of(dsop_sum_outer_products(communicator, DSOP_F64, &factor, &factor, &matrix, "accumulate=1")),
                 "an option is accumulate, expected beta=1 in its place"));
  dsop_synchronizer model = 0;
  REQUIRE(dsop_synchronizer_create(communicator, DSOP_F64, nullptr, &model) == DSOP_SUCCESS);
  REQUIRE(dsop_synchronizer_add(model, "w", 2, 2, 1, "dsop", nullptr) == DSOP_SUCCESS);
  REQUIRE(dsop_synchronizer_begin(model, 2, 1) == DSOP_SUCCESS);
  REQUIRE(dsop_synchronizer_give_factors(model, "w", &factor, &factor, &matrix, 3, 1) == DSOP_SUCCESS);
  REQUIRE(dsop_synchronizer_finish(model) == DSOP_SUCCESS);
  CHECK(target == std::array<double, 4>{9, 9, 9, 9});
  const std::uint32_t index = 3;
  const dsop_vector own{4, 1, &index, ones.data()};
  REQUIRE(dsop_synchronizer_begin(model, 1, 1) == DSOP_SUCCESS);
  REQUIRE(dsop_synchronizer_give_vector(model, "w", &own, &matrix, -1, 2) == DSOP_SUCCESS);
  REQUIRE(dsop_synchronizer_finish(model) == DSOP_SUCCESS);
  CHECK(target == std::array<double, 4>{18, 18, 18, 17});
  REQUIRE(dsop_synchronizer_begin(model, 1, 1) == DSOP_SUCCESS);
  REQUIRE(dsop_synchronizer_give_factors(model, "w", &factor, &factor, &matrix, 1, std::nan("")) == DSOP_SUCCESS);
  CHECK(contains(error_of(dsop_synchronizer_finish(model)), "beta"));
  CHECK(dsop_synchronizer_free(model) == DSOP_SUCCESS);
}

TEST_CASE("a policy selects if it keeps a residual, whatever its form") {
  int selects = 0;
  const std::string error = error_of(dsop_policy_selects("no such", &selects));
  const std::string before_forms = "policy is no such, expected ", before_names = "NAME:DENSITY with NAME one of ";
  REQUIRE(error.starts_with(before_forms));
  std::istringstream forms(error.substr(before_forms.size()));
  dsop_synchronizer model = 0;
  REQUIRE(dsop_synchronizer_create(everybody(), DSOP_F32, nullptr, &model) == DSOP_SUCCESS);
  std::array<int, 2> number_of{0, 0};
  bool takes_density = false;
  for (std::string form; std::getline(forms, form, ',');) {
    form.erase(0, form.find_first_not_of(' '));
    if (form.starts_with(before_names)) {
      form.erase(0, before_names.size());
      takes_density = true;
    }
    const std::string policy = form.substr(0, form.find('[')) + (takes_density ? ":1" : "");
    INFO(policy);
    REQUIRE(dsop_synchronizer_add(model, policy.c_str(), 2, 2, 0, policy.c_str(), nullptr) == DSOP_SUCCESS);
    const void* residual = nullptr;
    std::size_t count = 0;
    REQUIRE(dsop_synchronizer_residual(model, policy.c_str(), &residual, &count) == DSOP_SUCCESS);
    REQUIRE(dsop_policy_selects(policy.c_str(), &selects) == DSOP_SUCCESS);
    CHECK(selects == (count > 0 ? 1 : 0));
    ++number_of[static_cast<std::size_t>(selects)];
  }
  CHECK(number_of[0] > 0);
  CHECK(number_of[1] > 0);
  CHECK(contains(error_of(dsop_policy_selects(nullptr, &selects)), "policy is , expected dsop"));
  CHECK(contains(error_of(dsop_policy_selects("dsop", nullptr)), "selects"));
  CHECK(dsop_synchronizer_free(model) == DSOP_SUCCESS);
}

TEST_CASE("a synchronizer's residuals are reset") {
  const dsop_communicator communicator = everybody();
  dsop_synchronizer model = 0;
  REQUIRE(dsop_synchronizer_create(communicator, DSOP_F32, nullptr, &model) == DSOP_SUCCESS);
  REQUIRE(dsop_synchronizer_add(model, "w", 1, 4, 0, "topk:0.25", nullptr) == DSOP_SUCCESS);
  std::array<float, 4> values{4, 3, 2, 1};
  const dsop_matrix gradient{values.data(), 1, 4, 4};
  REQUIRE(dsop_synchronizer_begin(model, 1, 1) == DSOP_SUCCESS);
  REQUIRE(dsop_synchronizer_give_gradient(model, "w", &gradient) == DSOP_SUCCESS);
  CHECK(contains(error_of(dsop_synchronizer_reset_residuals(model)), "reset_residuals() stands within a step"));
  REQUIRE(dsop_synchronizer_finish(model) == DSOP_SUCCESS);
  const auto kept = [&] {
    const void* residual = nullptr;
    std::size_t count = 0;
    REQUIRE(dsop_synchronizer_residual(model, "w", &residual, &count) == DSOP_SUCCESS);
    const float* const first = static_cast<const float*>(residual);
    return std::vector<float>(first, first + count);
  };
  CHECK(kept() == std::vector<float>{0, 3, 2, 1});
  CHECK(dsop_synchronizer_reset_residuals(model) == DSOP_SUCCESS);
  CHECK(kept() == std::vector<float>{0, 0, 0, 0});
  CHECK(dsop_synchronizer_free(model) == DSOP_SUCCESS);
  CHECK(dsop_communicator_free(communicator) == DSOP_SUCCESS);
}

TEST_CASE("handles that are null, dead or of another kind") {
  const dsop_communicator communicator = everybody();
  dsop_machine machine = 0;
  REQUIRE(dsop_machine_default(0, &machine) == DSOP_SUCCESS);
  float value = 1;
  CHECK(contains(error_of(dsop_allreduce(0, DSOP_F32, &value, 1, nullptr)), "handle 0 is of nothing"));
  CHECK(contains(error_of(dsop_allreduce(machine, DSOP_F32, &value, 1, nullptr)),
                 "is of a machine, expected one of a "
                 "communicator"));
  CHECK(contains(error_of(dsop_allreduce(machine + 1000000, DSOP_F32, &value, 1, nullptr)), "is of nothing"));
  CHECK(dsop_machine_free(machine) == DSOP_SUCCESS);
  CHECK(contains(error_of(dsop_machine_free(machine)), "is dead"));
  const char* text = nullptr;
  CHECK(contains(error_of(dsop_machine_text(machine, &text)), "is dead, expected one of a machine"));
  CHECK(dsop_machine_free(0) == DSOP_SUCCESS);
  CHECK(dsop_communicator_free(communicator) == DSOP_SUCCESS);
}

TEST_CASE("the machine of a communicator is the one that its calls plan for") {
  const dsop_communicator communicator = everybody();
  dsop_machine machine = 0;
  REQUIRE(dsop_machine_of(communicator, &machine) == DSOP_SUCCESS);
  const char* text = nullptr;
  REQUIRE(dsop_machine_text(machine, &text) == DSOP_SUCCESS);
  CHECK(contains(text, "\"latency_seconds\": 1e-05"));
  CHECK(contains(error_of(dsop_machine_of(communicator, nullptr)), "machine is null"));
  CHECK(contains(error_of(dsop_machine_of(machine, &machine)), "is of a machine, expected one of a communicator"));
  CHECK(dsop_machine_free(machine) == DSOP_SUCCESS);
  CHECK(dsop_communicator_free(communicator) == DSOP_SUCCESS);
}

TEST_CASE("a machine's text is one that gives it back") {
  dsop_machine machine = 0, again = 0;
  REQUIRE(dsop_machine_of_text(R"({"latency_seconds": 3e-6, "inner_levels": [{"nodes": 1}]})", &machine) ==
          DSOP_SUCCESS);
  const char* text = nullptr;
  REQUIRE(dsop_machine_text(machine, &text) == DSOP_SUCCESS);
  const std::string first = text;
  CHECK(contains(first, "\"latency_seconds\": 3e-06"));
  REQUIRE(dsop_machine_of_text(first.c_str(), &again) == DSOP_SUCCESS);
  REQUIRE(dsop_machine_text(again, &text) == DSOP_SUCCESS);
  CHECK(text == first);
  CHECK(dsop_machine_free(machine) == DSOP_SUCCESS);
  CHECK(dsop_machine_free(again) == DSOP_SUCCESS);
  CHECK(contains(error_of(dsop_machine_of_text(nullptr, &machine)), "text is null, expected a machine's"));
  CHECK(contains(error_of(dsop_machine_of_text("{\"latency_seconds\": -1}", &machine)),
                 "the machine's text: latency_seconds is -1, expected"));
  CHECK(contains(error_of(dsop_machine_of_text("{\"flops\": 1}", &machine)), "unknown field flops"));
}

TEST_CASE("null pointers and wrong numbers") {
  const dsop_communicator communicator = everybody();
  std::array<float, 4> values{1, 2, 3, 4};
  const dsop_factor factor{values.data(), 2, 2, 2, nullptr, nullptr, 0};
  const dsop_matrix matrix{values.data() + 2, 2, 1, 1};
  CHECK(contains(error_of(dsop_communicator_world(nullptr)), "communicator is null"));
  CHECK(contains(error_of(dsop_allreduce(communicator, DSOP_F32, nullptr, 3, nullptr)), "data is null"));
  CHECK(contains(error_of(dsop_allreduce(communicator, 5, &values, 3, nullptr)), "type is 5"));
  CHECK(contains(error_of(dsop_broadcast(communicator, DSOP_F32, &values, 3, 1, nullptr)), "root is 1"));
  CHECK(contains(error_of(dsop_sum_outer_products(communicator, DSOP_F32, nullptr, &factor, &matrix, nullptr)), "a"));
  CHECK(contains(error_of(dsop_sum_outer_products(communicator, DSOP_F32, &factor, &factor, nullptr, nullptr)),
                 "gradient"));
  CHECK(contains(error_of(dsop_sum_sparse(communicator, DSOP_F32, nullptr, nullptr, nullptr)), "is null"));
  dsop_topk_allreduce allreduce = 0;
  REQUIRE(dsop_topk_allreduce_create(communicator, DSOP_F32, 4, "algorithm=none", nullptr, &allreduce) == DSOP_SUCCESS);
  dsop_sum sum = 0;
  CHECK(contains(error_of(dsop_topk_allreduce_run(allreduce, values.data(), 4, 2, &sum)), "none"));
  CHECK(error_of(dsop_machine_read("/no/such/file", &sum), DSOP_ERROR_OTHER).find("/no/such/file") !=
        std::string::npos);
}

TEST_CASE("options") {
  const dsop_communicator communicator = everybody();
  float value = 1;
  const auto error = [&](const char* options) {
    return error_of(dsop_allreduce(communicator, DSOP_F32, &value, 1, options));
  };
  CHECK(dsop_allreduce(communicator, DSOP_F32, &value, 1, " algorithm = ring ;; ") == DSOP_SUCCESS);
  CHECK(contains(error("algorithm"), "expected NAME=VALUE"));
  CHECK(contains(error("algorithms=ring"), "an option is algorithms, expected one of algorithm, machine"));
  CHECK(contains(error("algorithm=ring;algorithm=ring"), "expected each once"));
  CHECK(contains(error("machine=handle:77777777"), "handle 77777777"));
  CHECK(contains(error("machine=handle:x"), "expected handle:NUMBER"));
}

TEST_CASE("what is wrong on one rank is said by all") {
  Texts texts;
  REQUIRE(dsop_run_on_threads(3, give_wrong_options, &texts, 1) == DSOP_SUCCESS);
  CHECK(contains(texts.of_rank[0], "rank 1: an option is speed"));
  CHECK(texts.of_rank[0] == texts.of_rank[1]);
  CHECK(texts.of_rank[0] == texts.of_rank[2]);
}

TEST_CASE("a communicator on which a call has failed is refused") {
  std::string error;
  REQUIRE(dsop_run_on_threads(2, call_after_a_stall, &error, 1) == DSOP_SUCCESS);
  CHECK(contains(error, "this communicator has failed in call 1, allreduce 1 x 1 f64: "));
  CHECK(contains(error, "missing: rank 1; expected a new one"));
}

TEST_CASE("ranks that have ended") {
  std::array<std::uint64_t, 3> kept{};
  REQUIRE(dsop_run_on_threads(1, leave_handles, kept.data(), 1) == DSOP_SUCCESS);
  CHECK(contains(error_of(dsop_communicator_rank(kept[0], nullptr, nullptr)), "is dead"));
  CHECK(contains(error_of(dsop_outer_product_run(kept[1], nullptr, nullptr, nullptr)), "ranks have ended"));
  const char* text = nullptr;
  const void* bytes = nullptr;
  std::size_t count = 0;
  CHECK(contains(error_of(dsop_synchronizer_describe(kept[2], &text)), "ranks have ended"));
  CHECK(contains(error_of(dsop_synchronizer_save(kept[2], &bytes, &count)), "ranks have ended"));
  CHECK(dsop_synchronizer_free(kept[2]) == DSOP_SUCCESS);
  CHECK(dsop_outer_product_free(kept[1]) == DSOP_SUCCESS);
  CHECK(contains(error_of(dsop_run_on_threads(3, fail_on_rank_1, nullptr, 1), DSOP_ERROR_OTHER), "status"));
}

TEST_CASE("versions") {
  const std::string expected = std::to_string(DSOP_VERSION_MAJOR) + "." + std::to_string(DSOP_VERSION_MINOR) + "." +
                               std::to_string(DSOP_VERSION_PATCH);
  CHECK(dsop_version() == expected);
}

TEST_CASE("a process that was started with others is not alone") {
  dsop_communicator alone = 0;
  const Environment rank("RANK", "1");
  const Environment ranks("WORLD_SIZE", "3");
  CHECK(contains(
      error_of(dsop_communicator_world(&alone)),
      "RANK and WORLD_SIZE say that this process is rank 1 of 3, and no MPI launcher has started it, expected"));
  const char* info = nullptr;
  REQUIRE(dsop_info(&info) == DSOP_SUCCESS);
  CHECK(contains(info, R"("started_without_mpi":{"rank":1,"ranks":3,"names":"RANK and WORLD_SIZE"})"));
}

TEST_CASE("what says that this process is alone is no launcher") {
  const Environment procid("SLURM_PROCID", "0");  // a batch script's
  const Environment tasks("SLURM_NTASKS", "4");
  const Environment rank("RANK", "0");
  for (const char* const ranks : {"1", "", "two"}) {
    const Environment size("WORLD_SIZE", ranks);
    everybody();
  }
}

TEST_CASE("stores that make no sense are refused") {
  dsop_communicator ranks = 0;
  CHECK(error_of(dsop_communicator_from_store(nullptr, nullptr, nullptr, nullptr, 0, 1, nullptr, &ranks)) ==
        "set, get or wait is null, expected three functions");
  CHECK(error_of(dsop_communicator_from_file(nullptr, 0, 1, nullptr, &ranks)) == "path is null, expected a file's");
  CHECK(error_of(dsop_communicator_from_file("/tmp", 0, 1, nullptr, &ranks)) ==
        "store /tmp is a folder, expected a file");
  const auto set = [](const char*, const char*, void*) { return 0; };
  const auto get = [](const char*, char*, std::size_t, void*) { return 7; };
  const auto wait = [](const char*, double, void*) { return 1; };
  CHECK(contains(error_of(dsop_communicator_from_store(set, get, wait, nullptr, 0, 1, "speed=high", &ranks)), "speed"));
  CHECK(error_of(dsop_communicator_from_store(set, get, wait, nullptr, 1, 1, nullptr, &ranks)) ==
        "rank is 1, expected 0 to 0");
  CHECK(contains(
      error_of(dsop_communicator_from_store(set, get, wait, nullptr, 0, 1, nullptr, &ranks), DSOP_ERROR_TRANSPORT),
      "its function has returned 7"));
}
