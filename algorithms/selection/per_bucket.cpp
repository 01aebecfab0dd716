// A selection inside each bucket of b elements, so that no part of the vector goes without: Renggli, "Efficient Sparse
// AllReduce For Scalable Machine Learning" (master's thesis, ETH Zurich 2017), section 4.3.3. The thesis trains all its
// neural networks with expected-k and 512 elements a bucket.
//
//   1. Bucket j has the elements from j b on; of the k in all it gets what is due up to its end less what was due up to
//      its begin, floor(k end / N) - floor(k begin / N).
//   2. It makes a selection of so many, with draws of its own. More than that: those of the lowest indices.
//
// The thesis gives k to each bucket, where we give k to all; and where a bucket chose too few it adds zeros, so that
// every bucket of a GPU writes to a place known beforehand. They change no sum, and nobody here needs them: a bucket
// that chose fewer sends fewer. What is not finite is left out where a bucket has more of it than is due. The threshold
// is the lowest of all buckets'. Cost: that of the selection, of vectors that stay in the cache. Buckets are shared out
// among threads; those as large as a vector that is itself shared out are made one after the other.
//
// Selections that keep a threshold from step to step (threshold-...) have no form per bucket. Each bucket would have a
// threshold of its own to be kept and saved, where the state has one. And of the few elements due to a bucket, five of
// 512 at 1 %, the threshold of an earlier step may choose none, or many.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "algorithms/selection/algorithm.hpp"
#include "algorithms/selection/cut.hpp"
#include "algorithms/selection/ranges.hpp"
#include "base/mix.hpp"

namespace dsop::selection {
namespace {

/// Bucket j's elements, and how many are due to it and to those before.
struct Bucket {
  std::size_t first, last;
  std::size_t due_before, due;

  Bucket(std::size_t j, std::size_t b, std::size_t N, std::size_t k)
      : first(j * b),
        last(N - first < b ? N : first + b),
        due_before(up_to(first, N, k)),
        due(up_to(last, N, k) - due_before) {}

 private:
  static std::size_t up_to(std::size_t end, std::size_t N, std::size_t k) {
    return k == N ? end : k * end / N;  // below 2^64, as k < 2^32
  }
};

/// What some buckets in a row have chosen; it stands from `first` on.
struct Piece {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t predicted = 0;
  double threshold = std::numeric_limits<double>::quiet_NaN();
  bool has_all_not_finite = true;
};

/// Of the buckets j .. last - 1.
template <class T>
Piece choose(const SelectionCall<T>& call, std::size_t b, std::size_t j, std::size_t last, Memory<T>& memory) {
  const std::size_t N = call.values.size();
  Piece piece{.first = Bucket(j, b, N, call.k).due_before};
  for (; j < last; ++j) {
    const Bucket bucket(j, b, N, call.k);
    SelectionState state{.step = call.state.step, .seed = mix(call.state.seed) + j};
    const std::size_t place = piece.first + piece.count;
    SelectionCall<T> own{call.values.subspan(bucket.first, bucket.last - bucket.first),
                         bucket.due,
                         0,
                         state,
                         memory,
                         call.indices.subspan(place, bucket.due),
                         call.chosen.subspan(place, bucket.due)};
    if (bucket.due > 0) (*call.in_buckets)(own);
    for (sparse::Index& index : own.indices.first(own.count)) index += static_cast<sparse::Index>(bucket.first);
    piece.count += own.count;
    piece.predicted += own.predicted.value_or(own.count);
    if (bucket.due > 0) piece.threshold = std::fmin(piece.threshold, own.threshold);
    piece.has_all_not_finite = piece.has_all_not_finite && own.has_all_not_finite;
  }
  return piece;
}

template <class T>
void run(SelectionCall<T>& call) {
  const std::size_t N = call.values.size();
  const std::size_t b = call.parameter < static_cast<double>(N) ? static_cast<std::size_t>(call.parameter) : N;
  const std::size_t buckets = (N + b - 1) / b;
  const std::size_t threads = b >= parallel_elements ? 1 : std::min(buckets, threads_for(N));
  std::vector<Piece> pieces(threads);
  call.memory.of_threads.resize(threads);
  for (Memory<T>& memory : call.memory.of_threads) reserve_cut(b, memory);  // a team's threads must not throw
  kernels::on_threads(threads, [&](std::size_t t, std::size_t team) {
    pieces[t] = choose(call, b, buckets * t / team, buckets * (t + 1) / team, call.memory.of_threads[t]);
  });

  call.count = 0;
  std::size_t predicted = 0;
  call.threshold = std::numeric_limits<double>::quiet_NaN();
  call.has_all_not_finite = true;
  for (const Piece& piece : pieces) {
    if (call.count < piece.first) {
      std::copy_n(call.indices.data() + piece.first, piece.count, call.indices.data() + call.count);
      std::copy_n(call.chosen.data() + piece.first, piece.count, call.chosen.data() + call.count);
    }
    call.count += piece.count;
    predicted += piece.predicted;
    call.threshold = std::fmin(call.threshold, piece.threshold);
    call.has_all_not_finite = call.has_all_not_finite && piece.has_all_not_finite;
  }
  call.predicted = predicted;
}

}  // namespace

SelectionAlgorithm per_bucket(const SelectionAlgorithm& selection) {
  return {.name = selection.name + "-per-bucket",
          .summary = "inside buckets of so many elements, k in all: " + selection.summary,
          .source = "Renggli 2017 (SparCML's thesis), section 4.3.3",
          .parameter = {.name = "elements a bucket",
                        .values = [] { return std::vector<double>{512}; },
                        .expected = whole_number},
          .run = [](auto& call) { run(call); },
          .in_buckets = selection.run};
}

}  // namespace dsop::selection
