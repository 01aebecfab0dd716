// dsop.h on one rank and on ranks that are threads: statuses, texts and handles.
#include <dsop/dsop.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace {

const std::string nothing_wrong = "no error";

// The text of a call that failed as expected.
std::string error_of(int status, int expected = DSOP_ERROR_ARGUMENT) {
  CHECK(status == expected);
  return status == DSOP_SUCCESS ? nothing_wrong : dsop_last_error();
}

bool contains(const std::string& text, const std::string& words) {
  INFO(text);
  return text.find(words) != std::string::npos;
}

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
  return dsop_outer_product_create(communicator, DSOP_F32, 2, 2, 1, nullptr, &kept[1]);
}

int fail_on_rank_1(dsop_communicator communicator, void*) {
  int rank = 0;
  double value = 1;
  dsop_communicator_rank(communicator, &rank, nullptr);
  if (rank == 1) return 7;
  return dsop_allreduce(communicator, DSOP_F64, &value, 1, nullptr);
}

}  // namespace

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
  CHECK(contains(error_of(dsop_machine_check(machine)), "is dead, expected one of a machine"));
  CHECK(dsop_machine_free(0) == DSOP_SUCCESS);
  CHECK(dsop_communicator_free(communicator) == DSOP_SUCCESS);
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

TEST_CASE("ranks that have ended") {
  std::array<std::uint64_t, 2> kept{};
  REQUIRE(dsop_run_on_threads(1, leave_handles, kept.data(), 1) == DSOP_SUCCESS);
  CHECK(contains(error_of(dsop_communicator_rank(kept[0], nullptr, nullptr)), "is dead"));
  CHECK(contains(error_of(dsop_outer_product_run(kept[1], nullptr, nullptr, nullptr)), "ranks have ended"));
  CHECK(dsop_outer_product_free(kept[1]) == DSOP_SUCCESS);
  CHECK(contains(error_of(dsop_run_on_threads(3, fail_on_rank_1, nullptr, 1), DSOP_ERROR_OTHER), "status"));
}

TEST_CASE("versions") {
  const std::string expected = std::to_string(DSOP_VERSION_MAJOR) + "." + std::to_string(DSOP_VERSION_MINOR) + "." +
                               std::to_string(DSOP_VERSION_PATCH);
  CHECK(dsop_version() == expected);
}
