// The loops in C++ of bench/python_calls.py: the same sums over the same ranks in one process, without Python.
#include <chrono>
#include <cstddef>

#include <dsop/mpi.hpp>

namespace {

/// A layer of n x n with `pairs` on this rank, and the two ways to sum its gradient. In the caller's memory, which
/// must outlive it, so that all ways read and write the same: where a gradient lies changes the time by a tenth.
class Layer {
 public:
  Layer(std::size_t n, std::size_t pairs, const float* a, const float* b, float* gradient)
      : n_(n), pairs_(pairs), a_(a), b_(b), gradient_(gradient), object_(MPI_COMM_WORLD, {n, n, pairs}) {}

  void by_function() {
    dsop::dsop<float>(MPI_COMM_WORLD, factors(), dsop::MatrixView<float>(gradient_, n_, n_), dsop::Options{});
  }
  void by_object() { object_.run(factors(), {gradient_, n_, n_}); }

 private:
  dsop::Factors<float> factors() const { return {{a_, pairs_, n_}, {b_, pairs_, n_}}; }

  std::size_t n_;
  std::size_t pairs_;
  const float* a_;
  const float* b_;
  float* gradient_;
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

Layer* python_calls_layer(std::size_t n, std::size_t pairs, const float* a, const float* b, float* gradient) {
  return new Layer(n, pairs, a, b, gradient);
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
