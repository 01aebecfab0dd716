// Ranks and threads of programs that round otherwise, or flush denormal numbers, get the bits that all others get, and
// keep their mode.
#include <catch2/catch.hpp>

#include <cfenv>
#include <map>
#include <random>
#include <utility>

#include <dsop/synchronizer.hpp>

#include "algorithms/selection/algorithm.hpp"
#include "collectives_cases.hpp"
#include "kernels/float_mode.hpp"
#include "kernels/outer_product.hpp"
#include "kernels/threads.hpp"
#include "outer_product_cases.hpp"
#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

std::uint64_t upward() {
  const int before = std::fegetround();
  std::fesetround(FE_UPWARD);
  const std::uint64_t mode = kernels::float_mode();
  std::fesetround(before);
  return mode;
}

/// 0 where this test does not know how.
constexpr std::uint64_t flushing =
#if defined(__x86_64__)
    0x8040;
#elif defined(__aarch64__)
    1U << 24;
#else
    0;
#endif

/// A thread's, while it lives.
class Mode {
 public:
  explicit Mode(std::uint64_t mode) { kernels::set_float_mode(mode); }
  Mode(const Mode&) = delete;
  ~Mode() { kernels::set_float_mode(0); }
};

/// Fractions, every other one so small that products of two, and many sums, are denormal.
std::vector<float> fractions(int rank, std::size_t size, float small) {
  std::mt19937 random(static_cast<unsigned>(17 * rank) + 3);
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i)
    values[i] = (static_cast<float>(random() % 20011) - 10005) / 7919 * (i % 2 == 0 ? 1.0F : small);
  return values;
}

using Results = std::map<std::string, std::vector<float>>;

/// Makes a call of everything that computes, in `mode`, and keeps what it leaves.
class Caller {
 public:
  Caller(Transport& transport, std::uint64_t mode, Failures& failures)
      : transport_(transport), rank_(transport.rank()), mode_(mode), failures_(failures) {}

  Results results() {
    for (const std::string& algorithm : usable_algorithms(transport_)) outer_product(algorithm);
    rows();
    for (const Family& family : families())
      for (const std::string& name : usable_names(family, {size, transport_.size(), DataType::f32}))
        dense(family, name);
    for (const std::string& name : sparse_names(transport_.size())) sparse(name);
    for (const std::string& name : topk_names()) topk(name);
    for (const SelectionAlgorithm& algorithm : selection_algorithms()) select(algorithm.name);
    for (const char* const policy : {"dsop", "dense", "dense-overlapped", "sparse", "topk:0.2", "none"}) step(policy);
    return std::move(results_);
  }

 private:
  static constexpr std::size_t n = 67, m = 45, k = 3, size = 333;

  template <class Call>
  void keep(const std::string& name, std::vector<float>& result, const Call& call) {
    {
      const Mode mode(mode_);
      call();
      failures_.check(kernels::float_mode() == mode_, name + " leaves another mode");
    }
    results_[name] = result;
  }

  Factors<float> factors() const { return {{a_.data(), k, n}, {b_.data(), k, m}}; }

  void outer_product(const std::string& algorithm) {
    std::vector<float> G(n * m);
    const MatrixView<float> to(G.data(), n, m);
    const Options options{.algorithm = algorithm, .scale = 1.0 / 3};
    keep("run " + algorithm, G, [&] { dsop::dsop<float>(transport_, factors(), to, options); });
    OuterProduct<float> layer(transport_, {n, m, k}, options);
    keep("start " + algorithm, G, [&] { layer.start(factors(), to).wait(); });
  }
  void rows() {
    OuterProduct<float> layer(transport_, {n, m, k});
    const std::vector<std::size_t>& bounds = layer.plan().row_bounds;
    const auto at = static_cast<std::size_t>(rank_);
    std::vector<float> own(std::max(bounds[at + 1] - bounds[at], n) * m);
    keep("sharded", own, [&] { layer.run_sharded(factors(), {own.data(), bounds[at + 1] - bounds[at], m}); });
    keep("rows", own, [&] {
      const GradientRows<float> rows = layer.run_rows(SparseFactors<float>(factors()));
      std::copy_n(rows.elements.get(), rows.indices.size() * m, own.begin());
    });
  }
  void dense(const Family& family, const std::string& name) {
    std::vector<float> data = fractions(rank_, size, 1e-38F);
    const int root = family.has_root ? transport_.size() - 1 : 0;
    keep(std::string(family.name) + ' ' + name, data,
         [&] { call<float>(family, transport_, data, root, {.algorithm = name}); });
    if (family.sums && family.has_root && rank_ != root) results_.erase(std::string(family.name) + ' ' + name);
  }
  void sparse(const std::string& name) {
    std::vector<float> own = fractions(rank_, size, 1e-38F);
    for (std::size_t i = 0; i < size; ++i)
      if (i % 4 > 1) own[i] = 0;
    keep("sparse " + name, own, [&] {
      own = in_full(sparse_allreduce<float>(transport_, {size, {}, own}, {.algorithm = name}).sum);
    });
  }
  void topk(const std::string& name) {
    std::vector<float> values = fractions(rank_, size, 1e-38F);
    TopKAllreduce<float> allreduce(transport_, size, {.algorithm = name});
    for (int step = 0; step < 3; ++step)
      keep("topk " + name + ", step " + std::to_string(step), values, [&] {
        const std::vector<float> sum = in_full(allreduce.run(std::span(values).first(size), 200).sum);
        values.insert(values.begin() + size, sum.begin(), sum.end());  // behind the residual
      });
  }
  void select(const std::string& name) {
    const std::vector<float> values = fractions(rank_, size, 1e-38F);
    Selector<float> selector(name);
    std::vector<std::uint32_t> indices(size);
    std::vector<float> chosen(size);
    keep("select " + name, chosen, [&] { chosen.resize(selector.select(values, 200, indices, chosen).chosen); });
  }
  void step(const char* policy) {
    Synchronizer<float> synchronizer(transport_);
    synchronizer.add("w", {n, m, k}, policy);
    std::vector<float> target = fractions(rank_, n * m, 1e-38F);
    keep(std::string("step under ") + policy, target, [&] {
      synchronizer.begin({.scale = 1.0 / 3});
      synchronizer.give("w", factors(), {target.data(), n, m}, {.alpha = 0.7, .beta = 0.3});
      synchronizer.finish();
    });
  }

  Transport& transport_;
  int rank_;
  std::uint64_t mode_;
  Failures& failures_;
  std::vector<float> a_ = fractions(rank_, k* n, 1e-20F);
  std::vector<float> b_ = fractions(rank_ + 100, k* m, 1e-19F);
  Results results_ = {};
};

bool same_bits(const std::vector<float>& left, const std::vector<float>& right) {
  return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("ranks that round otherwise, or flush denormal numbers, have the bits of those that do not", "[modes]") {
  for (const int P : {1, 4})
    CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
            const std::uint64_t modes[] = {flushing, 0, upward(), flushing | upward()};
            const std::uint64_t own = modes[transport.rank()];
            const Results plain = Caller(transport, 0, failures).results();
            for (const auto& [name, result] : Caller(transport, own, failures).results())
              failures.check(same_bits(result, plain.at(name)), name + " has other bits");
          }) == "");
}

TEST_CASE("a call that throws leaves the caller's mode", "[modes]") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          const Mode mode(upward());
          std::vector<float> data(3);
          const std::string error = argument_error_of([&] { allreduce<float>(transport, data, {.algorithm = "no"}); });
          failures.check(!error.empty(), "no error");
          failures.check(kernels::float_mode() == upward(), "another mode");
        }) == "");
}

// OpenMP, and dsop for itself, makes the second thread in the mode that the first has then, and keeps it.
TEST_CASE("all threads of a product keep denormal numbers, and get their mode back", "[modes]") {
  const std::size_t K = GENERATE(2UL, 300UL);  // by our kernel, and by OpenBLAS
  run_on_threads(
      1,
      [&](Transport& transport) {
        const auto team_modes = [] {
          std::vector<std::uint64_t> modes(kernels::thread_count());
          kernels::on_threads_as_they_are(modes.size(),
                                          [&](std::size_t t, std::size_t) { modes[t] = kernels::float_mode(); });
          return modes;
        };
        constexpr std::size_t n = 1000;
        const std::vector<float> a(K * n, 0x1p-70F);
        std::vector<float> G(n * n);
        const Mode mode(flushing);
        const std::vector<std::uint64_t> before = team_modes();
        CHECK((before == std::vector<std::uint64_t>(kernels::thread_count(), flushing)));
        dsop::dsop<float>(transport, {{a.data(), K, n}, {a.data(), K, n}}, {G.data(), n, n});
        CHECK((team_modes() == before));
        kernels::set_float_mode(0);
        CHECK((G == std::vector<float>(n * n, static_cast<float>(K) * 0x1p-140F)));
      },
      2);
}
