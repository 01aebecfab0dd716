// One fully connected layer: every rank has two samples, everybody gets the mean gradient of all.
#include <cstdio>
#include <dsop/mpi.hpp>
#include <vector>

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);  // OpenMP's threads leave MPI to this one
  {
    constexpr std::size_t n = 300, m = 200, k = 2;  // inputs, outputs, samples a rank
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const float batch = static_cast<float>(k) * static_cast<float>(size);
    std::vector<float> a(k * n, 1.0F);                      // what went into the layer, a sample a row
    std::vector<float> b(k * m, static_cast<float>(rank));  // the error that came back, a sample a row
    std::vector<float> gradient(n * m);                     // sum over ranks of a^T b

    // One call that picks the algorithm ...
    dsop::dsop(MPI_COMM_WORLD, {{a.data(), k, n}, {b.data(), k, m}}, dsop::MatrixView(gradient.data(), n, m),
               {.scale = 1.0F / batch});

    // ... or a layer that plans once and keeps its buffers.
    dsop::OuterProduct<float> layer{MPI_COMM_WORLD, {.rows = n, .columns = m, .max_pairs = k}, {.scale = 1.0F / batch}};
    layer.run({{a.data(), k, n}, {b.data(), k, m}}, {gradient.data(), n, m});

    if (rank == 0) std::printf("%s: every element is %g\n", layer.plan().algorithm_name().c_str(), gradient[0]);
  }
  MPI_Finalize();
}
