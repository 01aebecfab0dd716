// Calls of the outer-product algorithms, and what each must give, over any transport.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <dsop/algorithms.hpp>
#include <dsop/counting.hpp>
#include <dsop/dsop.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/outer_product/piggyback.hpp"
#include "collect.hpp"
#include "inputs.hpp"
#include "sent_by_calls.hpp"
#include "turns.hpp"

namespace dsop::tests {

/// How a rank hands over its factors.
enum class Form { dense, find_zeros, sparse_a, sparse_b, sparse, mixed };

struct Case {
  std::size_t n;
  std::size_t m;
  std::vector<std::size_t> pairs;  // of each rank
  double scale;
  bool accumulate;
  std::size_t gap;  // elements between two rows of a, b and G
  bench::Densities densities = {};
  Form form = Form::dense;  // mixed: another on each rank
  Wire factor_wire = Wire::full;

  // BLAS's, of which cases take turns.
  double alpha() const { return (n + m) % 2 == 0 ? 1 : -2; }
  double beta() const { return !accumulate ? 0 : (n + m) % 2 == 0 ? 1 : 3; }

  std::string text() const {
    std::ostringstream text;
    text << n << " x " << m << ", pairs";
    for (const std::size_t k : pairs) text << ' ' << k;
    text << ", scale " << scale << ", alpha " << alpha() << ", beta " << beta() << ", gap " << gap;
    text << ", densities " << densities.a << ' ' << densities.b << ", form " << static_cast<int>(form);
    text << ", factors as " << name(factor_wire);
    return text.str();
  }
};

inline std::vector<std::vector<std::size_t>> pair_patterns(int P) {
  const auto ranks = static_cast<std::size_t>(P);
  std::vector<std::size_t> unequal;
  for (std::size_t r = 0; r < ranks; ++r) unequal.push_back(r % 3);
  std::vector<std::size_t> only_last(ranks, 0);
  only_last[ranks - 1] = 5;
  std::vector<std::size_t> all_but_first(ranks, 2);
  all_but_first[0] = 0;
  return {std::vector<std::size_t>(ranks, 1), std::vector<std::size_t>(ranks, 3), unequal, only_last, all_but_first,
          std::vector<std::size_t>(ranks, 0), std::vector<std::size_t>(ranks, 20)};
}

/// Every shape with every pattern of pairs; scale, accumulating and gaps take turns.
inline std::vector<Case> all_cases(int P) {
  constexpr std::pair<std::size_t, std::size_t> shapes[] = {{1, 1},   {1, 7},   {7, 1},  {3, 5},
                                                            {16, 16}, {33, 17}, {50, 64}};
  constexpr double scales[] = {1, 0.5, 2, -1};
  std::vector<Case> cases;
  for (const auto& [n, m] : shapes)
    for (const std::vector<std::size_t>& pairs : pair_patterns(P)) {
      const std::size_t turn = cases.size() % 4;
      cases.push_back({n, m, pairs, scales[turn], turn >= 2, turn % 2 == 1 ? std::size_t{3} : std::size_t{0}});
    }
  return cases;
}

/// Sparse factors, all forms of them; densities, forms, scale, accumulating and gaps take turns at different paces.
inline std::vector<Case> sparse_cases(int P) {
  constexpr std::pair<std::size_t, std::size_t> shapes[] = {{1, 7}, {33, 17}, {50, 64}, {90, 150}};
  constexpr bench::Densities densities[] = {{0.1, 0.1}, {0.02, 1}, {1, 0.05}, {0.2, 0.4}, {0, 0.3}, {1, 1}, {0.1, 0}};
  constexpr Form forms[] = {Form::sparse, Form::mixed, Form::sparse_a, Form::find_zeros, Form::sparse_b};
  constexpr double scales[] = {1, 0.5, 2, -1};
  std::vector<Case> cases;
  for (const auto& [n, m] : shapes)
    for (const std::vector<std::size_t>& pairs : pair_patterns(P)) {
      const std::size_t turn = cases.size();
      cases.push_back({n, m, pairs, scales[turn % 4], turn % 4 >= 2, turn % 2 == 1 ? std::size_t{3} : std::size_t{0},
                       densities[(turn + turn / 7) % 7], forms[turn % 5]});
    }
  return cases;
}

/// A rank's factors for a case, in its form.
template <class T>
class CaseFactors {
 public:
  CaseFactors(const Case& c, int rank, std::uint64_t seed = 1, bench::Values values = bench::Values::whole)
      : form_(c.form == Form::mixed ? static_cast<Form>(rank % 5) : c.form),
        dense_(seed, rank, c.pairs[static_cast<std::size_t>(rank)], c.n, c.m, values, c.gap, c.densities),
        a_(dense_.view().a),
        b_(dense_.view().b) {}

  const Factors<T>& dense() const { return dense_.view(); }
  SparseFactors<T> given() const {
    if (form_ == Form::sparse_a) return {a_.view(), dense_.view().b};
    if (form_ == Form::sparse_b) return {dense_.view().a, b_.view()};
    if (form_ == Form::sparse) return {a_.view(), b_.view()};
    return dense_.view();
  }
  bool find_zeros() const { return form_ == Form::find_zeros; }

 private:
  Form form_;
  bench::InputFactors<T> dense_;
  bench::Compressed<T> a_;
  bench::Compressed<T> b_;
};

template <class T>
constexpr T untouched = T{-1000};  // what G and its gaps hold before the call

/// What the plan says is sent; where the factors rode in the agreement, what that says.
inline Cost stated_cost(const Plan& plan, const Traffic& sent) {
  Cost cost = plan.cost();
  if (!plan.algorithm->can_piggyback || sent.messages > 0) return cost;
  const Traffic piggybacked = outer_product::piggybacked_traffic(plan.problem);
  cost.messages = piggybacked.messages;
  cost.bytes = piggybacked.bytes;
  return cost;
}

/// What a case with whole numbers must give: every element of G, and every gap, to be compared with ==.
template <class T>
class Expected {
 public:
  explicit Expected(const Case& c) : case_(c), gradient_(c.n * (c.m + c.gap), untouched<T>) {
    std::vector<CaseFactors<T>> all;
    for (std::size_t r = 0; r < c.pairs.size(); ++r) all.emplace_back(c, static_cast<int>(r));
    for (std::size_t i = 0; i < c.n; ++i) {
      const std::span<T> row(&gradient_[i * (c.m + c.gap)], c.m);
      for (T& element : row) element *= static_cast<T>(c.beta());
      for (const auto& factors : all)
        bench::add_reference_row<T>(factors.dense(), i, static_cast<T>(c.scale * c.alpha()), row);
    }
  }

  /// Runs the case and returns "" or what is wrong.
  std::string wrong_elements(Transport& transport, const std::string& algorithm) const {
    const auto call = [&](const auto& factors, MatrixView<T> gradient, const Options& options) {
      dsop<T>(transport, factors, gradient, options);
    };
    return wrong_elements(transport, algorithm, call);
  }
  /// The same of a layer, and adds what it sends.
  std::string wrong_elements(Transport& uncounted, const std::string& algorithm, SentByCalls& sent) const {
    CountingTransport transport(uncounted);
    const auto call = [&](const auto& factors, MatrixView<T> gradient, const Options& options) {
      const std::size_t pairs = case_.pairs[static_cast<std::size_t>(transport.rank())];
      OuterProduct<T> layer(transport, {case_.n, case_.m, pairs}, options);
      layer.run(factors, gradient);
      if (!layer.plan().algorithm->native())
        sent.add(transport.payload(), stated_cost(layer.plan(), transport.payload()), algorithm + ", " + case_.text());
    };
    return wrong_elements(transport, algorithm, call);
  }

 private:
  template <class Call>
  std::string wrong_elements(Transport& transport, const std::string& algorithm, Call call) const {
    const Case& c = case_;
    const CaseFactors<T> own(c, transport.rank());
    std::vector<T> G(gradient_.size(), untouched<T>);
    const MatrixView<T> gradient(G.data(), c.n, c.m, c.m + c.gap);
    for (std::size_t i = 0; i < c.n && !c.accumulate; ++i)  // which beta = 0 does not read
      std::fill_n(gradient.row(i), c.m, std::numeric_limits<T>::quiet_NaN());
    const Options options{.algorithm = algorithm,
                          .scale = c.scale,
                          .alpha = c.alpha(),
                          .beta = c.beta(),
                          .find_zeros = own.find_zeros(),
                          .factor_wire = c.factor_wire};
    if (c.form == Form::dense)
      call(own.dense(), gradient, options);
    else
      call(own.given(), gradient, options);
    const auto [wrong, expected] = std::mismatch(G.begin(), G.end(), gradient_.begin());
    if (wrong == G.end()) return "";
    const auto at = static_cast<std::size_t>(wrong - G.begin());
    return algorithm + " " + std::string(name(data_type<T>)) + ", " + c.text() + ": rank " +
           std::to_string(transport.rank()) + " has G(" + std::to_string(at / (c.m + c.gap)) + "," +
           std::to_string(at % (c.m + c.gap)) + ") = " + std::to_string(*wrong) + ", expected " +
           std::to_string(*expected);
  }

  Case case_;
  std::vector<T> gradient_;
};

/// Runs one case and returns "" or what is wrong.
template <class T>
std::string wrong_elements(Transport& transport, const std::string& algorithm, const Case& c) {
  return Expected<T>(c).wrong_elements(transport, algorithm);
}

/// Whether all ranks hold the same bits.
template <class T>
bool same_bits_everywhere(Transport& transport, std::span<const T> elements) {
  std::vector<T> of_rank_zero(elements.begin(), elements.end());
  const std::span<T> all(of_rank_zero);
  if (transport.rank() == 0)
    for (int r = 1; r < transport.size(); ++r) transport.send(all, r);
  else
    transport.recv(all, 0);
  return std::memcmp(of_rank_zero.data(), elements.data(), elements.size_bytes()) == 0;
}

/// Runs the algorithm twice on fractions and compares the bits with rank 0's, and the second run's with the first's,
/// unless it sums by an MPI library that promises nothing.
template <class T>
std::string different_bits(Transport& transport, const std::string& algorithm, std::size_t n, std::size_t m,
                           std::size_t k, bench::Densities densities = {}) {
  if (algorithm == "allreduce-mpi" && !transport.native_sums_have_same_bits()) return "";
  const std::vector<std::size_t> pairs(static_cast<std::size_t>(transport.size()), k);
  const Form form = densities.a < 1 || densities.b < 1 ? Form::mixed : Form::dense;
  const CaseFactors<T> own({n, m, pairs, 1, false, 0, densities, form}, transport.rank(), 7, bench::Values::fractions);
  std::vector<T> first(n * m);
  std::vector<T> second(n * m);
  const Options options{.algorithm = algorithm, .scale = 1.0 / 3, .find_zeros = own.find_zeros()};
  dsop<T>(transport, own.given(), MatrixView<T>(first.data(), n, m), options);
  dsop<T>(transport, own.given(), MatrixView<T>(second.data(), n, m), options);
  const std::string what = algorithm + " " + std::string(name(data_type<T>)) + " " + std::to_string(n) + " x " +
                           std::to_string(m) + ", " + std::to_string(k) + " pairs a rank: bits of rank " +
                           std::to_string(transport.rank());
  if (!same_bits_everywhere<T>(transport, first)) return what + " differ from rank 0's";
  if (std::memcmp(first.data(), second.data(), n * m * sizeof(T)) != 0) return what + " differ in a second run";
  return "";
}

/// The algorithms that can serve, each with its parameter left open and with the first, the middle and the last of the
/// values that the planner considers.
inline std::vector<std::string> usable_algorithms(const Problem& problem) {
  std::vector<std::string> names;
  for (const OuterProductAlgorithm& algorithm : outer_product_algorithms()) {
    if (!why_unsupported(algorithm, problem).empty()) continue;
    names.push_back(algorithm.name);
    if (algorithm.parameter.name.empty()) continue;
    const std::vector<double> values = algorithm.parameter.values(algorithm, problem);
    std::set tried{values.front(), values[values.size() / 2], values.back()};
    if (!algorithm.exchanges(algorithm, problem, Machine{}, values.front()).segments.empty())
      tried.insert({4, 8});  // more than so small a problem is cut into
    for (const double value : tried) names.push_back(algorithm_text(algorithm, value));
  }
  return names;
}

/// Of ranks that are each on a node of its own.
inline Problem small_problem(int ranks) {
  return {.rows = 64, .columns = 64, .pairs = std::vector<std::size_t>(static_cast<std::size_t>(ranks), 1)};
}

/// Those that these ranks, on their nodes, can use. All ranks must call it, and get the same.
inline std::vector<std::string> usable_algorithms(Transport& transport) {
  Problem problem = small_problem(transport.size());
  problem.group.native = transport.has_native_collectives();
  problem.group.nodes = shared_nodes(bench::of_all_ranks(transport, transport.node()));
  return usable_algorithms(problem);
}

/// Two ranks on each node, neighbours on different ones; 5 ranks are on 0 1 2 0 1.
inline std::vector<int> nodes_of_two(int ranks) {
  std::vector<int> nodes;
  for (int r = 0; r < ranks; ++r) nodes.push_back(r % ((ranks + 1) / 2));
  return nodes;
}

/// Whether algorithm number a of usable_algorithms() runs case number c: up to four ranks every third, of those whose
/// number is fixed every ninth; at more ranks every 24th, f32 and f64 by turns. Which ones goes round with algorithms
/// and ranks. Every call at 17 threads is a thousand switches between them.
inline bool has_turn(const std::string& algorithm, std::size_t a, std::size_t c, int ranks) {
  const std::size_t every = ranks > 4 ? 24 : algorithm.find('(') != std::string::npos ? 9 : 3;
  return takes_turn(a + c + static_cast<std::size_t>(ranks), every);
}

}  // namespace dsop::tests
