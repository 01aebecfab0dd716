// A step of training: three parameters' gradients are summed over ranks while the layers below are still at work.
#include <cstdio>
#include <dsop/mpi.hpp>
#include <dsop/synchronizer.hpp>
#include <vector>

int main(int argc, char** argv) {
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);  // so that sums go on beside backpropagation
  {
    constexpr std::size_t n = 300, m = 200, k = 2;  // inputs, outputs, samples a rank
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<float> inputs(k * n, 1.0F), errors(k * m, 1.0F);
    std::vector<float> weight(n * m), bias(m, 2.0F), kernel(5000, 1.0F);  // gradients

    dsop::Synchronizer<float> synchronizer(MPI_COMM_WORLD);
    synchronizer.add("weight", {.rows = n, .columns = m, .max_pairs = k}, "dsop");          // given as factors
    synchronizer.add("bias", {.rows = 1, .columns = m, .max_pairs = 0}, "dense");           // small: into a bucket
    synchronizer.add("kernel", {.rows = 1, .columns = 5000, .max_pairs = 0}, "topk:0.01");  // the rest stays behind

    synchronizer.begin({.scale = 1.0 / static_cast<double>(k) / size});  // means over all ranks' samples
    synchronizer.give("weight", {{inputs.data(), k, n}, {errors.data(), k, m}}, {weight.data(), n, m});
    synchronizer.give("bias", {bias.data(), 1, m});
    // ... backpropagation through the layer below ...
    synchronizer.give("kernel", {kernel.data(), 1, 5000});
    synchronizer.finish();

    if (rank == 0) std::printf("%sweight %g, bias %g\n", synchronizer.describe().c_str(), weight[0], bias[0]);
  }
  MPI_Finalize();
}
