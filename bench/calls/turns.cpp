#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>

#include <mpi.h>

#include "../statistics.hpp"
#include "calls.hpp"

namespace calls {
namespace {

using dsop::bench::Interval;

double slowest_rank(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/// Seconds of so many runs, after one that is not timed, so that memory is where this loop leaves it.
double time_batch(const Loop& loop, int runs) {
  loop.run();
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < runs; ++run) loop.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return slowest_rank(elapsed.count());
}

void print_interval(const Options& options, const char* key, double middle, const Interval& interval, double unit) {
  if (options.json)
    std::printf(R"(,"%s":%.6g,"%s_interval":[%.6g,%.6g])", key, middle, key, interval.low, interval.high);
  else
    std::printf(" %10.2f %10.2f to %8.2f", middle / unit, interval.low / unit, interval.high / unit);
}

}  // namespace

int rank_of_this() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int number_of_ranks() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

void measure_by_turns(std::vector<Loop>& loops, double seconds) {
  std::vector<int> runs(loops.size(), 1);
  double round_seconds = 0;
  for (std::size_t l = 0; l < loops.size(); ++l) {
    double batch_seconds = time_batch(loops[l], runs[l]);
    while (batch_seconds < 1e-3) batch_seconds = time_batch(loops[l], runs[l] *= 2);
    round_seconds += batch_seconds;
  }
  const int rounds = static_cast<int>(std::clamp(seconds / round_seconds, 5.0, 1000.0));
  std::vector<std::size_t> order(loops.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::minstd_rand random;  // the same on all ranks
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t l : order)
      loops[l].seconds.push_back(time_batch(loops[l], runs[l]) / (runs[l] * loops[l].calls));
  }
}

void print_head(const Options& options) {
  if (options.json || rank_of_this() != 0) return;
  std::printf("# %-19s %-10s %-33s %5s %10s %22s %10s %22s\n", "scene", "case", "call", "ranks", "us", "95 % interval",
              "x the last", "95 % interval");
}

void print_times(const Options& options, const std::string& scene, const std::string& of_case, int ranks,
                 const std::vector<Loop>& loops, const Loop* base) {
  if (rank_of_this() != 0) return;
  const auto print = [&](const char* key, const std::vector<double>& samples, double unit) {
    print_interval(options, key, dsop::bench::median(samples), dsop::bench::median_interval(samples), unit);
  };
  for (const Loop& loop : loops) {
    std::printf(options.json ? R"({"scene":"%s","case":"%s","call":"%s","ranks":%d)" : "  %-19s %-10s %-33s %5d",
                scene.c_str(), of_case.c_str(), loop.call.c_str(), ranks);
    print("seconds", loop.seconds, 1e-6);
    if (base != nullptr && base != &loop) {
      std::vector<double> ratios(loop.seconds.size());
      std::transform(loop.seconds.begin(), loop.seconds.end(), base->seconds.begin(), ratios.begin(), std::divides());
      if (options.json) std::printf(R"(,"base":"%s")", base->call.c_str());
      print("ratio", ratios, 1);
    }
    if (options.json) std::printf(R"(,"batches":%zu})", loop.seconds.size());
    std::printf("\n");
  }
  std::fflush(stdout);
}

}  // namespace calls
