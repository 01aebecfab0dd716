// Sparse allreduces of the longest vectors that 32-bit indices can name.
#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>

#include "sparse_allreduce_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("vectors of 2^32 elements, parts of a longer one, are summed in memory for what is not zero", "[sparse]") {
  constexpr std::size_t large = std::size_t{1} << 32;
  constexpr std::uint32_t last = std::numeric_limits<std::uint32_t>::max();
  const int P = GENERATE(1, 3, 4);
  // Region j has the indices j, 1000 + r and the last: small ones where it is small.
  const std::vector<float> ones{1, 1, 1};
  std::vector<std::string> names{"auto"};
  for (const SparseAlgorithm& algorithm : sparse_algorithms())
    if (!algorithm.makes_dense) names.push_back(algorithm.name);
  REQUIRE(names.size() >= 5);
  for (const std::string& name : names) {
    const SparseProblem problem{.elements = large,
                                .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(P), 3)};
    CHECK(make_sparse_plan(problem, Machine{}, name).workspace_bytes < 100000);
    INFO(name << ", P = " << P);
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            const auto r = static_cast<std::uint32_t>(transport.rank());
            const std::vector<std::uint32_t> in_first{0, 1000 + r, last};
            const std::vector<std::uint32_t> in_second{1, 1000 + r, last};
            const std::vector<std::uint32_t> in_third{2, 3 + r, 29};
            const std::vector<SparseVectorView<float>> regions{
                {large, in_first, ones}, {large, in_second, ones}, {30, in_third, ones}};
            std::vector<SparseSum<float>> sums;
            for (const SparseVectorView<float>& region : regions)
              sums.push_back(sparse_allreduce<float>(transport, region, {.algorithm = name}));
            for (std::uint32_t j = 0; j < 2; ++j) {
              const SparseVectorView<float>& sum = sums[j].sum;
              std::vector<std::uint32_t> indices{j};
              std::vector<float> values{static_cast<float>(P)};
              for (int q = 0; q < P; ++q) indices.push_back(1000 + static_cast<std::uint32_t>(q));
              for (int q = 0; q < P; ++q) values.push_back(1);
              indices.push_back(last);
              values.push_back(static_cast<float>(P));
              failures.check(sum.dimension == large, "another region");
              failures.check(std::ranges::equal(sum.indices, indices) && std::ranges::equal(sum.values, values),
                             "a sum is wrong");
            }
            const std::vector<float> small = in_full(sums[2].sum);
            failures.check(small[2] == static_cast<float>(P) && small[3] == 1 && small[29] == static_cast<float>(P),
                           "the last region is wrong");
          }) == "");
  }
}
