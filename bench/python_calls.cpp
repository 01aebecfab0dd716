// The loops in C++ of bench/python_calls.py: the same sums over the same ranks in one process, without Python.
#include <chrono>
#include <cstddef>
#include <vector>

#include <dsop/mpi.hpp>

namespace {

/// A layer of n x n with one pair on this rank, and the two ways to sum its gradient.
class Layer {
 public:
  explicit Layer(std::size_t n) : n_(n), factor_(n, 1.0F), gradient_(n * n), object_(MPI_COMM_WORLD, {n, n, 1}) {}

  void by_function() {
    dsop::dsop<float>(MPI_COMM_WORLD, factors(), dsop::MatrixView<float>(gradient_.data(), n_, n_), dsop::Options{});
  }
  void by_object() { object_.run(factors(), {gradient_.data(), n_, n_}); }

 private:
  dsop::Factors<float> factors() const { return {{factor_.data(), 1, n_}, {factor_.data(), 1, n_}}; }

  std::size_t n_;
  std::vector<float> factor_;
  std::vector<float> gradient_;
  dsop::OuterProduct<float> object_;
};

template <class Body>
double seconds_of(int runs, const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < runs; ++run) body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

extern "C" {

Layer* python_calls_layer(std::size_t n) {
  return new Layer(n);
}

double python_calls_by_function(Layer* layer, int runs) {
  return seconds_of(runs, [layer] { layer->by_function(); });
}

double python_calls_by_object(Layer* layer, int runs) {
  return seconds_of(runs, [layer] { layer->by_object(); });
}

void python_calls_meet() {
  MPI_Barrier(MPI_COMM_WORLD);
}

double python_calls_slowest_rank(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

}  // extern "C"
