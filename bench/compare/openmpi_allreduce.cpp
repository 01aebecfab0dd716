// MPI_Allreduce with each of Open MPI's algorithms forced: what a user may reach by tuning it.
//
//   1. Every rank makes its own A_r^T B_r.
//   2. MPI_Allreduce on a communicator that is bound to one algorithm.
#include "compare/openmpi.hpp"
#include "compare/vector_sum.hpp"

namespace dsop::bench::compare {
namespace {

constexpr const char* prefix = "openmpi-allreduce-";

template <class T>
class ForcedAllreduce final : public VectorSum {
 public:
  ForcedAllreduce(int number, std::span<T> elements) : forced_(openmpi_forced_to(number)), elements_(elements) {}

  void run() override {
    forget_openmpi_algorithm();
    forced_->native().allreduce(std::as_writable_bytes(elements_), data_type<T>);
  }
  std::string used() const override { return prefix + openmpi_algorithm_that_ran(); }

 private:
  std::unique_ptr<Transport> forced_;
  std::span<T> elements_;
};

Rival forced(int number, const std::string& name, const std::string& how) {
  return {.name = prefix + name,
          .summary = "own product, then Open MPI's allreduce algorithm " + std::to_string(number) + ", " + how,
          .source = "Open MPI 4.1, coll_tuned_allreduce_algorithm",
          .dense = true,
          .unsupported = openmpi_unavailable,
          .flops = own_product_flops,
          .workspace_elements = [](const Problem& problem) { return problem.rows * problem.columns; },
          .prepare = product_then([number]<class T>(Transport&, std::span<T> elements) {
            return std::make_unique<ForcedAllreduce<T>>(number, elements);
          })};
}

}  // namespace

std::vector<Rival> openmpi_allreduces() {
  return {forced(1, "basic_linear", "all to rank 0 and back"),
          forced(2, "nonoverlapping", "its reduce, then its broadcast"),
          forced(3, "recursive_doubling", "the whole vector at each step"),
          forced(4, "ring", "reduce-scatter and allgather round a ring"),
          forced(5, "segmented_ring", "the ring in segments of 1 MiB"),
          forced(6, "rabenseifner", "recursive halving, then recursive doubling")};
}

}  // namespace dsop::bench::compare
