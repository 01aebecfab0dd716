// What the program `calls` is made of: it measures what dsop's calls cost. It uses the public headers and MPI alone, so
// that the same source measures the library of any commit; scripts/calls does so.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace calls {

struct Options {
  bool json = false;
  double seconds = 1;  ///< for each group of calls that take turns
};

int rank_of_this();
int number_of_ranks();

inline std::string square(std::size_t n) {
  return std::to_string(n) + " x " + std::to_string(n);
}

struct Loop {
  std::string call;
  std::function<void()> run;
  int calls = 1;                     ///< that one run makes
  std::vector<double> seconds = {};  ///< of one call, a batch each; of the slowest rank
};

/// Fills Loop::seconds. The loops take turns in an order drawn anew each round, in batches of a millisecond or more, so
/// that what else the machine does hits all alike.
void measure_by_turns(std::vector<Loop>& loops, double seconds);

void print_head(const Options& options);
/// A row for each loop: median and its 95 % interval, and with a base the ratio to it, batch by batch.
void print_times(const Options& options, const std::string& scene, const std::string& of_case, int ranks,
                 const std::vector<Loop>& loops, const Loop* base = nullptr);

// The scenes: each measures, and rank 0 prints its rows.
void outer_product_run(const Options& options);
void two_shapes_by_turns(const Options& options);
void changing_pairs(const Options& options);
void agreement(const Options& options);
void planning(const Options& options);

}  // namespace calls
