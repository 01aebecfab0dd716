// A synchronizer that is used wrongly on some rank: every rank must get the same error, which names the parameter and
// the values, nobody hangs, and the next step is right.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "synchronizer_cases.hpp"

namespace dsop::tests {

constexpr int misusing_ranks = 3;

/// One of those, and what it gives.
struct Rank {
  Transport& transport;
  Synchronizer<float>& synchronizer;
  std::vector<float> G;       // 6 x 4
  std::vector<float> a;       // a pair's 6
  std::vector<float> b;       // and 4
  std::vector<float> bias;    // 4
  std::vector<float> kernel;  // 200

  bool is(int r) const { return transport.rank() == r; }
  void give_weight() { synchronizer.give("weight", {{a.data(), 1, 6}, {b.data(), 1, 4}}, {G.data(), 6, 4}); }
  void give_bias() { synchronizer.give("bias", {bias.data(), 1, 4}); }
  void give_kernel() { synchronizer.give("kernel", {kernel.data(), 2, 100}); }
};

inline void run_good_step(Rank& rank) {
  std::fill(rank.a.begin(), rank.a.end(), 1.0F);
  std::fill(rank.b.begin(), rank.b.end(), static_cast<float>(rank.transport.rank()));
  std::fill(rank.bias.begin(), rank.bias.end(), 1.0F);
  std::fill(rank.kernel.begin(), rank.kernel.end(), 2.0F);
  rank.synchronizer.begin();
  rank.give_kernel();
  rank.give_bias();
  rank.give_weight();
  rank.synchronizer.finish();
}

/// What is wrong on any rank after `misuse`, which must throw an ArgumentError that contains `expected`.
inline std::string failures_when(const std::string& expected, const std::function<void(Rank&)>& misuse) {
  std::vector<std::string> errors(misusing_ranks);
  std::string failures;
  for (const bool overlap : {true, false})
    for (const char* const policy : {"dsop", "dense", "dense-overlapped", "sparse", "topk:1"}) {
      failures += failures_on_threads(misusing_ranks, [&](Transport& transport, Failures& failed) {
        Synchronizer<float> synchronizer(transport, {.bucket_bytes = 100, .overlap = overlap});
        synchronizer.add("weight", {.rows = 6, .columns = 4, .max_pairs = 1}, policy);
        synchronizer.add("bias", {.rows = 1, .columns = 4, .max_pairs = 0}, policy);
        synchronizer.add("kernel", {.rows = 2, .columns = 100, .max_pairs = 0}, policy);
        Rank rank{transport,
                  synchronizer,
                  std::vector<float>(24),
                  std::vector<float>(6),
                  std::vector<float>(4),
                  std::vector<float>(4),
                  std::vector<float>(200)};
        const auto own = static_cast<std::size_t>(transport.rank());
        errors[own] = argument_error_of([&] { misuse(rank); });
        failed.check(errors[own].find(expected) != std::string::npos, "threw \"" + errors[own] + '"');
        run_good_step(rank);
        failed.check(rank.G == std::vector<float>(24, 3) && rank.bias == std::vector<float>(4, 3) &&
                         rank.kernel == std::vector<float>(200, 6),
                     std::string("the next step is wrong under ") + policy);
      });
      if (errors != std::vector<std::string>(misusing_ranks, errors[0]))
        failures += "the ranks threw different errors\n";
    }
  return failures;
}

}  // namespace dsop::tests
