// Every allgather pattern alone: blocks of all sizes come to their places, by the messages and bytes that it states.
#include <catch2/catch.hpp>

#include <random>
#include <vector>

#include <dsop/counting.hpp>

#include "algorithms/dense/allgather.hpp"
#include "failures.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

AllgatherProblem with_blocks(const std::vector<std::size_t>& bytes) {
  AllgatherProblem problem{{0}};
  for (const std::size_t block : bytes) problem.bounds_bytes.push_back(problem.bounds_bytes.back() + block);
  return problem;
}

std::vector<AllgatherProblem> problems(int P) {
  const auto ranks = static_cast<std::size_t>(P);
  std::vector<std::size_t> only_last(ranks, 0);
  only_last.back() = 40;
  std::vector<std::size_t> all_but_first(ranks, 3);
  all_but_first.front() = 0;
  std::vector<AllgatherProblem> problems{
      with_blocks(std::vector<std::size_t>(ranks, 8)), with_blocks(std::vector<std::size_t>(ranks, 0)),
      with_blocks(only_last), with_blocks(all_but_first), with_blocks(std::vector<std::size_t>(ranks, 5000))};
  std::mt19937 random(17);
  for (int i = 0; i < 5; ++i) {
    std::vector<std::size_t> unequal;
    for (std::size_t r = 0; r < ranks; ++r) unequal.push_back(random() % 4 == 0 ? 0 : random() % 200);
    problems.push_back(with_blocks(unequal));
  }
  return problems;
}

std::vector<std::byte> gathered(const AllgatherProblem& problem) {
  std::vector<std::byte> data;
  for (std::size_t i = 0; i < problem.total_bytes(); ++i) data.push_back(static_cast<std::byte>(1 + i % 251));
  return data;
}

void run(const AllgatherAlgorithm& algorithm, const AllgatherProblem& problem, Transport& threads, Failures& failures) {
  CountingTransport transport(threads);
  const int r = transport.rank();
  const std::vector<std::byte> expected = gathered(problem);
  std::vector<std::byte> data(expected.size());
  AllgatherCall call{transport, data, problem};
  const std::span<std::byte> own = call.blocks(r);
  std::copy_n(expected.begin() + (own.data() - data.data()), own.size(), own.begin());

  algorithm.run(call);

  const std::string what = algorithm.name + ", rank " + std::to_string(r) + " of " + std::to_string(problem.ranks());
  failures.check(data == expected, what + ": blocks are wrong");
  failures.check(transport.payload().messages == algorithm.sent(problem, r).messages, what + ": messages differ");
  failures.check(transport.payload().bytes == algorithm.sent(problem, r).bytes, what + ": bytes differ");
}

}  // namespace

TEST_CASE("every allgather brings blocks of any sizes to all ranks, by the messages and bytes that it states") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17);
  for (const AllgatherAlgorithm& algorithm : allgather_algorithms())
    for (const AllgatherProblem& problem : problems(P)) {
      if (!algorithm.unsupported(problem).empty()) continue;
      CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
              run(algorithm, problem, transport, failures);
            }) == "");
    }
}

TEST_CASE("patterns say what they can't serve, and some pattern always can") {
  const AllgatherAlgorithm& neighbor = *allgather_algorithms().find("neighbor");
  CHECK(neighbor.unsupported(with_blocks({1, 1, 1})) ==
        "swaps blocks in couples of ranks, and the number of ranks is odd");
  CHECK(neighbor.unsupported(with_blocks({1, 1})).empty());
  CHECK(
      allgather_algorithms().find("mpi")->unsupported(with_blocks({1, 1})).starts_with("runs inside the MPI library"));
}

TEST_CASE("the cheapest allgather has the fewest messages where blocks are equal") {
  const auto cheapest = [](int P) {
    return cheapest_allgather(with_blocks(std::vector<std::size_t>(static_cast<std::size_t>(P), 8)), Machine{}).name;
  };
  CHECK(cheapest(17) == "bruck");
  CHECK(cheapest(16) == "recursive-doubling");
}

TEST_CASE("ranks out of step go round the ring, unless another allgather is predicted to take a tenth less") {
  const auto blocks = [](std::size_t bytes) { return with_blocks(std::vector<std::size_t>(16, bytes)); };
  CHECK(cheapest_allgather(blocks(1 << 20), Machine{}).name == "recursive-doubling");
  CHECK(cheapest_allgather_out_of_step(blocks(1 << 20), Machine{}).name == "ring");
  CHECK(cheapest_allgather_out_of_step(blocks(8), Machine{}).name == "recursive-doubling");
}
