// Calls that are started, over any transport: exact, whatever order they are waited for in and mixed with.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dsop/dsop.hpp>

#include "failures.hpp"
#include "inputs.hpp"
#include "outer_product_cases.hpp"

namespace dsop::tests {

/// A layer's factors, made anew for each step, its gradient, and what the gradient must be.
template <class T>
class Job {
 public:
  Job(Transport& transport, std::size_t n, std::size_t m, std::size_t k, const std::string& algorithm)
      : rank_(transport.rank()),
        ranks_(transport.size()),
        n_(n),
        m_(m),
        k_(k),
        layer_(transport, {.rows = n, .columns = m, .max_pairs = k}, {.algorithm = algorithm}) {}

  Pending start(std::uint64_t seed) {
    prepare(seed);
    return layer_.start(own_->view(), gradient());
  }
  void run(std::uint64_t seed) {
    prepare(seed);
    layer_.run(own_->view(), gradient());
  }
  bool exact() const {
    std::vector<T> expected(n_ * m_);
    for (int r = 0; r < ranks_; ++r) {
      const bench::InputFactors<T> given(seed_, r, k_, n_, m_);
      for (std::size_t i = 0; i < n_; ++i)
        bench::add_reference_row<T>(given.view(), i, T{1}, std::span(expected).subspan(i * m_, m_));
    }
    return G_ == expected;
  }
  OuterProduct<T>& layer() { return layer_; }

 private:
  void prepare(std::uint64_t seed) {
    seed_ = seed;
    own_.emplace(seed, rank_, k_, n_, m_);
    G_.assign(n_ * m_, untouched<T>);
  }
  MatrixView<T> gradient() { return {G_.data(), n_, m_}; }

  int rank_, ranks_;
  std::size_t n_, m_, k_;
  OuterProduct<T> layer_;
  std::uint64_t seed_ = 0;
  std::optional<bench::InputFactors<T>> own_;
  std::vector<T> G_;
};

/// Several layers of different shapes, started together and waited for in an order that each rank draws for itself,
/// with blocking calls between.
inline void check_many_outstanding(Transport& transport, Failures& failures) {
  const std::vector<std::string> algorithms = usable_algorithms(transport);
  std::vector<std::unique_ptr<Job<float>>> jobs;
  for (std::size_t i = 0; i < algorithms.size() + 4; ++i)
    jobs.push_back(std::make_unique<Job<float>>(transport, 3 + 7 * i, 40 - 3 * (i % 10), i % 4,
                                                i < algorithms.size() ? algorithms[i] : "auto"));
  Job<double> blocking(transport, 21, 9, 2, "auto");
  std::mt19937 random(static_cast<unsigned>(transport.rank()));
  for (std::uint64_t step = 1; step <= 6; ++step) {
    std::vector<std::pair<std::size_t, Pending>> outstanding;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      outstanding.emplace_back(i, jobs[i]->start(100 * step + i));
      if (step % 3 == 1 && i == jobs.size() / 2) {  // in between, while others are under way
        blocking.run(step);
        failures.check(blocking.exact(), "a blocking call between is wrong");
      }
      if (step % 3 == 2 && i == 2) {
        const Job<float> made_between(transport, 5, 5, 1, "auto");
        const Case c{4, 3, std::vector<std::size_t>(static_cast<std::size_t>(transport.size()), 2), 1, false, 0};
        const std::string wrong = wrong_elements<double>(transport, "auto", c);
        failures.check(wrong.empty(), wrong);
      }
    }
    std::shuffle(outstanding.begin(), outstanding.end(), random);
    for (auto& [i, pending] : outstanding) {
      if (random() % 2 == 0)
        pending.wait();
      else
        while (!pending.test()) std::this_thread::yield();
      failures.check(jobs[i]->exact(), "a started call is wrong");
      failures.check(pending.test(), "a handle that was waited for is not done");
      pending.wait();
    }
  }
}

/// One layer, started many times before the first wait: they run one after the other.
inline void check_one_layer_many_times(Transport& transport, Failures& failures) {
  constexpr std::size_t n = 17, m = 5, k = 2, times = 9;
  const bench::InputFactors<float> own(3, transport.rank(), k, n, m);
  std::vector<float> expected(n * m);
  OuterProduct<float> layer(transport, {.rows = n, .columns = m, .max_pairs = k}, {.beta = 1});
  layer.run(own.view(), {expected.data(), n, m});
  std::vector<float> G(n * m);
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < times; ++i) pending.push_back(layer.start(own.view(), {G.data(), n, m}));
  pending[times / 2].wait();
  pending.back().wait();
  for (float& element : expected) element *= times;
  failures.check(G == expected, "one layer's calls did not add up");
}

/// Sparse factors can be started too, and a call for rows waits for them.
inline void check_sparse_factors(Transport& transport, Failures& failures) {
  constexpr std::size_t n = 40, m = 30, k = 3;
  const bench::InputFactors<float> own(7, transport.rank(), k, n, m, bench::Values::whole, 0, {.a = 0.1, .b = 0.2});
  const bench::Compressed<float> a(own.view().a);
  const bench::Compressed<float> b(own.view().b);
  OuterProduct<float> layer(transport, {.rows = n, .columns = m, .max_pairs = k});
  std::vector<float> expected(n * m);
  layer.run(own.view(), {expected.data(), n, m});
  std::vector<float> G(n * m, untouched<float>);
  Pending pending = layer.start({a.view(), b.view()}, {G.data(), n, m});
  const GradientRows<float> rows = layer.run_rows({a.view(), b.view()});
  failures.check(G == expected, "a call for rows did not wait, or a sparse started call is wrong");
  pending.wait();
  for (std::size_t i = 0; i < rows.indices.size(); ++i)
    failures.check(std::equal(rows.values().row(i), rows.values().row(i) + m, &expected[rows.indices[i] * m]),
                   "a row is wrong");
}

/// Errors come out of the handle, on all ranks, and what was started behind is not hurt.
inline void check_errors(Transport& transport, Failures& failures) {
  Job<float> good(transport, 6, 7, 2, "auto");
  OuterProduct<float> layer(transport, {.rows = 3, .columns = 2, .max_pairs = 1});
  const bool last = transport.rank() == transport.size() - 1;
  const bench::InputFactors<float> too_many(1, transport.rank(), last ? 2 : 1, 3, 2);
  std::vector<float> G(6);
  for (const bool by_test : {false, true}) {
    Pending bad = layer.start(too_many.view(), {G.data(), 3, 2});
    Pending behind = good.start(5);
    behind.wait();
    failures.check(good.exact(), "the call behind a bad one is wrong");
    const std::string error = argument_error_of([&] {
      if (!by_test) return bad.wait();
      while (!bad.test()) std::this_thread::yield();
    });
    failures.check(error == "rank " + std::to_string(transport.size() - 1) +
                                ": the number of pairs is 2, expected at most the layer's max_pairs = 1",
                   error);
    failures.check(argument_error_of([&] { bad.wait(); }).empty(), "an error is thrown twice");
  }
}

/// Handles, layers and even their order of ending may be anything.
inline void check_destroyed_handles(Transport& transport, Failures& failures) {
  Job<float> job(transport, 30, 20, 2, "auto");
  { const Pending dropped = job.start(1); }
  failures.check(job.exact(), "a destroyed handle did not wait");
  Job<float> next(transport, 20, 30, 2, "auto");  // job's own factors must stay until its call is complete
  Pending pending = job.start(2);
  pending = next.start(3);  // waits for the first
  failures.check(job.exact(), "an assigned handle did not wait for its former call");
  pending.wait();
  failures.check(next.exact(), "an assigned handle is wrong");

  Pending longest;
  {
    Job<float> short_lived(transport, 30, 20, 2, "auto");
    longest = short_lived.start(4);
    OuterProduct<float> moved(std::move(short_lived.layer()));
    Pending second = std::move(longest);
    longest = std::move(second);
    OuterProduct<float> other(transport, {.rows = 1, .columns = 1});
    moved = std::move(other);  // ends the layer that runs
    failures.check(short_lived.exact(), "a layer that ended did not wait");
  }
  failures.check(longest.test(), "a handle outlived its layer and is not done");
  longest.wait();
}

}  // namespace dsop::tests
