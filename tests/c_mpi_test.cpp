// dsop.h under mpirun: who starts MPI, and calls after its end, which are errors and free nothing that MPI holds.
#include <dsop/dsop.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s; the last error: \"%s\"\n", what, dsop_last_error());
  std::_Exit(1);
}

void check_refused(int status, const char* call) {
  check(status == DSOP_ERROR_ARGUMENT && std::string(dsop_last_error()).find("MPI is finalized") == 0, call);
}

}  // namespace

int main() {
  dsop_communicator all = 0, another = 0;
  check(dsop_communicator_world(&all) == DSOP_ERROR_ARGUMENT &&
            std::string(dsop_last_error()).ends_with("expected dsop_init() before"),
        "MPI does not run before dsop_init()");
  check(dsop_init() == DSOP_SUCCESS && dsop_init() == DSOP_SUCCESS, "dsop_init() may be called again");
  check(dsop_communicator_world(&all) == DSOP_SUCCESS, "there is a communicator");
  int rank = -1, size = 0;
  check(dsop_communicator_rank(all, &rank, &size) == DSOP_SUCCESS && size == 2, "it has two ranks");

  for (const int number : {-1, 12345}) {
    dsop_communicator none = 0;
    check(dsop_communicator_from_mpi(number, &none) == DSOP_ERROR_ARGUMENT, "a number of no communicator is refused");
  }

  std::array<double, 4> values{1, 2, 3, 4};
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  dsop_communicator freed = 0;
  check(dsop_communicator_from_mpi(MPI_Comm_c2f(copy), &freed) == DSOP_SUCCESS, "a duplicate");
  check(dsop_allreduce(freed, DSOP_F64, values.data(), 4, nullptr) == DSOP_SUCCESS, "a sum over it");
  MPI_Comm_free(&copy);
  check(dsop_allreduce(freed, DSOP_F64, values.data(), 4, nullptr) == DSOP_ERROR_ARGUMENT &&
            std::string(dsop_last_error()) == "the MPI communicator was freed, expected a call before",
        "a freed communicator is refused");
  dsop_outer_product layer = 0;
  dsop_sparse_allreduce sparse = 0;
  dsop_topk_allreduce topk = 0;
  dsop_synchronizer model = 0;
  dsop_sum sum = 0;
  dsop_pending complete = 0, pending = 0;
  check(dsop_outer_product_create(all, DSOP_F64, 2, 2, 1, nullptr, &layer) == DSOP_SUCCESS, "a layer");
  check(dsop_sparse_allreduce_create(all, DSOP_F64, nullptr, &sparse) == DSOP_SUCCESS, "a sparse allreduce");
  check(dsop_topk_allreduce_create(all, DSOP_F64, 4, nullptr, nullptr, &topk) == DSOP_SUCCESS, "a top-k allreduce");
  check(dsop_synchronizer_create(all, DSOP_F64, nullptr, &model) == DSOP_SUCCESS, "a synchronizer");
  check(dsop_topk_allreduce_run(topk, values.data(), 4, 2, &sum) == DSOP_SUCCESS, "a sum");
  check(dsop_start_allreduce(all, DSOP_F64, values.data(), 4, nullptr, &complete) == DSOP_SUCCESS, "a started call");
  check(dsop_finalize() == DSOP_SUCCESS, "dsop_finalize() completes what was started, and ends MPI");

  const dsop_vector own{4, 4, nullptr, values.data()};
  const dsop_factor factor{values.data(), 1, 2, 0, nullptr, nullptr, 0};
  const dsop_matrix matrix{values.data(), 2, 2, 0};
  check_refused(dsop_init(), "dsop_init");
  check_refused(dsop_communicator_world(&another), "dsop_communicator_world");
  check_refused(dsop_communicator_rank(all, &rank, &size), "dsop_communicator_rank");
  check_refused(dsop_allreduce(all, DSOP_F64, values.data(), 4, nullptr), "dsop_allreduce");
  check_refused(dsop_start_allreduce(all, DSOP_F64, values.data(), 4, nullptr, &pending), "dsop_start_allreduce");
  check_refused(dsop_sum_outer_products(all, DSOP_F64, &factor, &factor, &matrix, nullptr), "dsop_sum_outer_products");
  check_refused(dsop_outer_product_run(layer, &factor, &factor, &matrix), "dsop_outer_product_run");
  check_refused(dsop_outer_product_start(layer, &factor, &factor, &matrix, &pending), "dsop_outer_product_start");
  check_refused(dsop_sum_sparse(all, DSOP_F64, &own, nullptr, &sum), "dsop_sum_sparse");
  check_refused(dsop_start_sum_sparse(all, DSOP_F64, &own, nullptr, &sum, &pending), "dsop_start_sum_sparse");
  check_refused(dsop_sparse_allreduce_run(sparse, &own, &sum), "dsop_sparse_allreduce_run");
  check_refused(dsop_sparse_allreduce_start(sparse, &own, &sum, &pending), "dsop_sparse_allreduce_start");
  check_refused(dsop_topk_allreduce_run(topk, values.data(), 4, 2, &sum), "dsop_topk_allreduce_run");
  check_refused(dsop_topk_allreduce_start(topk, values.data(), 4, 2, &sum, &pending), "dsop_topk_allreduce_start");
  check_refused(dsop_synchronizer_add(model, "w", 2, 2, 0, "dense", nullptr), "dsop_synchronizer_add");
  check_refused(dsop_synchronizer_begin(model, 1, 1), "dsop_synchronizer_begin");
  check_refused(dsop_synchronizer_finish(model), "dsop_synchronizer_finish");
  const char* text = nullptr;
  const void* bytes = nullptr;
  std::size_t count = 0;
  check_refused(dsop_synchronizer_describe(model, &text), "dsop_synchronizer_describe");
  check_refused(dsop_synchronizer_save(model, &bytes, &count), "dsop_synchronizer_save");
  check(dsop_info(&text) == DSOP_SUCCESS && dsop_sum_get(sum, nullptr, nullptr) == DSOP_SUCCESS, "what needs no MPI");
  check(dsop_wait(complete) == DSOP_SUCCESS, "a call that was started before the end is complete");

  for (const int status : {dsop_outer_product_free(layer), dsop_sparse_allreduce_free(sparse), dsop_sum_free(sum),
                           dsop_topk_allreduce_free(topk), dsop_synchronizer_free(model), dsop_communicator_free(all)})
    check(status == DSOP_SUCCESS, "to free is no error");
  check(dsop_finalize() == DSOP_SUCCESS, "dsop_finalize() may be called again");
  std::printf("rank %d: as it is to be\n", rank);
  return 0;
}
