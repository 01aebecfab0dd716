#include "rounds.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "clock.hpp"

namespace dsop::bench {
namespace {

double seconds_per_call(const Loop& loop) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t call = 0; call < loop.calls_per_sample; ++call) loop.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(loop.calls_per_sample);
}

}  // namespace

void measure_rounds(std::vector<Loop>& loops, std::size_t rounds) {
  for (Loop& loop : loops) {
    loop.run();
    loop.calls_per_sample = static_cast<std::size_t>(std::ceil(shortest_sample_seconds / seconds_per_call(loop)));
  }
  std::vector<std::size_t> order(loops.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::minstd_rand random;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t index : order) {
      loops[index].run();
      loops[index].seconds.push_back(seconds_per_call(loops[index]));
    }
  }
}

}  // namespace dsop::bench
