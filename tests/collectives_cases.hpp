// What every collective on dense vectors must pass, over any transport.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <dsop/collectives.hpp>
#include <dsop/counting.hpp>

#include "algorithms/dense/operation.hpp"
#include "failures.hpp"
#include "inputs.hpp"
#include "sent_by_calls.hpp"
#include "turns.hpp"

namespace dsop::tests {

/// allreduce, broadcast and reduce, each with its registry.
struct Family {
  const char* name;
  const Registry<DenseAlgorithm>& algorithms;
  bool has_root;
  bool sums;
};

inline std::vector<Family> families() {
  return {{"allreduce", dense_algorithms(), false, true},
          {"broadcast", broadcast_algorithms(), true, false},
          {"reduce", reduce_algorithms(), true, true}};
}

template <class T>
void call(const Family& family, Transport& transport, std::span<T> data, int root, const CollectiveOptions& options) {
  if (!family.has_root) return dsop::allreduce(transport, data, options);
  family.sums ? dsop::reduce(transport, data, root, options) : dsop::broadcast(transport, data, root, options);
}

template <class T>
Pending start(const Family& family, Transport& transport, std::span<T> data, int root,
              const CollectiveOptions& options) {
  if (!family.has_root) return dsop::start_allreduce(transport, data, options);
  return family.sums ? dsop::start_reduce(transport, data, root, options)
                     : dsop::start_broadcast(transport, data, root, options);
}

template <class T>
std::vector<T> vector_of(int rank, std::size_t size, bench::Values values = bench::Values::whole) {
  const bench::InputFactors<T> made(7, rank, 1, size, 0, values);
  return {made.view().a.data, made.view().a.data + size};
}

template <class T>
std::vector<T> sum_of_all(int P, std::size_t size) {
  std::vector<T> sum(size);
  for (int r = 0; r < P; ++r) std::ranges::transform(sum, vector_of<T>(r, size), sum.begin(), std::plus());
  return sum;
}

template <class T>
std::vector<T> expected(const Family& family, int P, std::size_t size, int root) {
  return family.sums ? sum_of_all<T>(P, size) : vector_of<T>(root, size);
}

/// What can serve, each with all numbers worth trying: what the planner may choose, and what only a caller may.
inline std::vector<std::string> usable_names(const Family& family, const DenseProblem& problem) {
  std::vector<std::string> names;
  for (const DenseAlgorithm& algorithm : family.algorithms) {
    if (!algorithm.unsupported(problem).empty()) continue;
    names.push_back(algorithm.name);
    if (algorithm.parameter.name.empty()) continue;
    for (const double value : {1.0 / 128, 0.1, 1.0, 3.0})
      if (algorithm.parameter.expected(value, problem).empty()) names.push_back(algorithm_text(algorithm, value));
  }
  names.emplace_back("auto");
  return names;
}

inline std::vector<std::size_t> sizes(int P) {
  const auto ranks = static_cast<std::size_t>(P);
  return {0, 1, 2, ranks - 1, ranks, ranks + 1, 3 * ranks + 2, 100, 1001};
}

/// Each algorithm with each size, and every root of few ranks, else roots, and f32 and f64, by turns: exact, and the
/// busiest rank sends the messages and bytes that the formula states.
template <class T>
void check_collectives(Transport& uncounted, Failures& failures) {
  const int P = uncounted.size();
  int turn = 0;
  std::size_t type_turn = static_cast<std::size_t>(P) + sizeof(T) / 4;
  SentByCalls sent;
  for (const std::size_t size : sizes(P)) {
    const std::vector<T> sum = sum_of_all<T>(P, size);
    for (const Family& family : families()) {
      DenseProblem problem{size, P, data_type<T>, {uncounted.has_native_collectives()}};
      for (const std::string& name : usable_names(family, problem)) {
        if (P > 5 && !takes_turn(type_turn++, 2)) continue;
        const int roots = P <= 5 && family.has_root ? P : 1;
        for (int i = 0; i < roots; ++i) {
          problem.root = roots == 1 && family.has_root ? ++turn % P : i;
          CountingTransport transport(uncounted);
          std::vector<T> data = vector_of<T>(transport.rank(), size);
          call<T>(family, transport, data, problem.root, {.algorithm = name});

          std::ostringstream what;
          what << family.name << ' ' << name << ", P = " << P << ", rank " << transport.rank() << ", root "
               << problem.root << ", size " << size << ": ";
          const bool is_undefined = family.has_root && family.sums && transport.rank() != problem.root;
          failures.check(is_undefined || data == (family.sums ? sum : vector_of<T>(problem.root, size)),
                         what.str() + "wrong");
          if (size == 0) continue;
          const DensePlan plan = make_dense_plan(family.algorithms, problem, transport.default_machine(), name);
          if (!plan.algorithm->native) sent.add(transport.payload(), plan.cost(), what.str());
        }
      }
    }
  }
  sent.check_busiest(uncounted, [&](const std::string& text) { failures.add(text); });
}

/// Sums of fractions, whose order shows: the same bits on all ranks of an allreduce, and the same for each call.
template <class T>
void check_bits_of_collectives(Transport& transport, Failures& failures) {
  constexpr std::size_t size = 333;
  const int P = transport.size();
  for (const Family& family : families()) {
    if (!family.sums) continue;
    for (const std::string& name :
         usable_names(family, {size, P, data_type<T>, {transport.has_native_collectives()}})) {
      if (name == "mpi") continue;  // promises nothing
      const int root = family.has_root ? P / 2 : 0;
      std::vector<T> first = vector_of<T>(transport.rank(), size, bench::Values::fractions);
      std::vector<T> second = first;
      call<T>(family, transport, first, root, {.algorithm = name});
      call<T>(family, transport, second, root, {.algorithm = name});
      const bool is_undefined = family.has_root && transport.rank() != root;
      const auto same_bits = [&](const std::vector<T>& other) {
        return is_undefined || std::memcmp(first.data(), other.data(), size * sizeof(T)) == 0;
      };
      failures.check(same_bits(second), std::string(family.name) + ' ' + name + " has other bits each time");
      std::vector<T> of_root = first;
      dsop::broadcast<T>(transport, of_root, root);
      failures.check(same_bits(of_root), std::string(family.name) + ' ' + name + " has other bits on other ranks");
    }
  }
}

/// All collectives started at once, an outer product among them, and waited for from the last to the first.
inline void check_started_collectives(Transport& transport, Failures& failures) {
  constexpr std::size_t size = 300;
  const int P = transport.size();
  struct Started {
    Family family;
    int root;
    std::vector<float> data;
    Pending pending;
  };
  std::vector<Started> all;
  for (const Family& family : families())
    for (const std::string& name :
         usable_names(family, {size, P, DataType::f32, {transport.has_native_collectives()}})) {
      const int root = static_cast<int>(all.size()) % P;
      all.push_back({family, root, vector_of<float>(transport.rank(), size), {}});
      all.back().pending = start<float>(family, transport, all.back().data, root, {.algorithm = name});
      if (all.size() % 5 == 0) {
        std::vector<double> between = vector_of<double>(transport.rank(), size);
        dsop::allreduce<double>(transport, between);
        failures.check(between == expected<double>(families().front(), P, size, 0), "a blocking call between is wrong");
      }
    }
  for (auto started = all.rbegin(); started != all.rend(); ++started) {
    started->pending.wait();
    const bool is_undefined = started->family.has_root && started->family.sums && transport.rank() != started->root;
    failures.check(is_undefined || started->data == expected<float>(started->family, P, size, started->root),
                   std::string("a started ") + started->family.name + " is wrong");
  }
}

}  // namespace dsop::tests
