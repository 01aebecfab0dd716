// All ranks must have the bits of one sum, whose terms are added in different orders by different ranks' neighbours.
#include <catch2/catch.hpp>

#include <cmath>

#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

// Values whose sums depend on the order in which they are added: about k large ones and as many as there are small.
template <class T>
std::vector<T> gradient_with_roundings(const TopKCase& c, int rank, std::size_t step) {
  std::vector<T> gradient = whole_gradient<T>(c, rank, step);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = static_cast<T>((static_cast<double>(gradient[i]) + 0.01) *
                                 std::sin(1 + static_cast<double>(i + 31 * step) + 0.37 * rank));
  return gradient;
}

// Steps that evaluate thresholds, that reuse them and that move them.
template <class T>
void check_bits(Transport& transport, Wire wire, Failures& failures) {
  const auto ranks = static_cast<std::size_t>(transport.size());
  std::size_t turn = ranks;
  for (const TopKCase& c :
       {TopKCase{3000, 100, bench::Distribution::uniform}, TopKCase{2000, 60, bench::Distribution::one_region},
        TopKCase{600, 150, bench::Distribution::power_law}, TopKCase{ranks + 2, 3, bench::Distribution::uniform}}) {
    ++turn;  // eight algorithms: else each would have the same turn in every case
    for (const std::string& algorithm : topk_names(wire)) {
      if (!takes_turn(turn++, 2)) continue;
      TopKAllreduce<T> allreduce(transport, c.elements, {.algorithm = algorithm, .wire = wire});
      std::vector<T> values(c.elements);
      std::uint64_t bits = 0;
      for (std::size_t step = 0; step < 5; ++step) {
        const std::vector<T> gradient = gradient_with_roundings<T>(c, transport.rank(), step);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += gradient[i];
        const TopKSum<T> result = allreduce.run(values, c.k);
        bits = bench::mix(bits ^ hash_of(result.sum));
      }
      failures.check(same_on_all_ranks(transport, bits),
                     algorithm + ", " + std::string(name(wire)) + ", " + c.text() + ": the bits differ");
    }
  }
}

}  // namespace

TEST_CASE("every selecting allreduce gives all ranks the same bits of sums that are rounded", "[topk][bits]") {
  const int P = GENERATE(2, 3, 4, 5, 8, 13);
  INFO("P = " << P);
  for (const Wire wire : {Wire::full, Wire::bf16})
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            check_bits<float>(transport, wire, failures);
          }) == "");
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          check_bits<double>(transport, Wire::full, failures);
        }) == "");
}
