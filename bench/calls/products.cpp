// Outer products: one layer, two layers by turns, pairs that change.
#include <array>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <dsop/mpi.hpp>

#include "calls.hpp"

namespace calls {
namespace {

/// A layer of n x n with up to max_pairs pairs on this rank, and the ways to sum its gradient.
class Layer {
 public:
  explicit Layer(std::size_t n, std::size_t max_pairs = 1)
      : n_(n), factors_(max_pairs * n, 1.0F), gradient_(n * n), object_(MPI_COMM_WORLD, {n, n, max_pairs}) {}

  void by_object(std::size_t pairs = 1) { object_.run(factors(pairs), {gradient_.data(), n_, n_}); }
  void by_function(std::size_t pairs = 1) {
    dsop::dsop<float>(MPI_COMM_WORLD, factors(pairs), {gradient_.data(), n_, n_}, dsop::Options{});
  }

 private:
  dsop::Factors<float> factors(std::size_t pairs) const {
    return {{factors_.data(), pairs, n_}, {factors_.data(), pairs, n_}};
  }

  std::size_t n_;
  std::vector<float> factors_;
  std::vector<float> gradient_;
  dsop::OuterProduct<float> object_;
};

}  // namespace

void outer_product_run(const Options& options) {
  for (const std::size_t n : {std::size_t{10}, std::size_t{100}}) {
    Layer layer(n);
    std::vector<float> whole(n * n);  // zeros, which sums leave as they are
    std::vector<Loop> loops{{"OuterProduct::run", [&] { layer.by_object(); }},
                            {"dsop()", [&] { layer.by_function(); }},
                            {"MPI_Allreduce", [&] {
                               MPI_Allreduce(MPI_IN_PLACE, whole.data(), static_cast<int>(n * n), MPI_FLOAT, MPI_SUM,
                                             MPI_COMM_WORLD);
                             }}};
    measure_by_turns(loops, options.seconds);
    print_times(options, "outer_product_run", square(n), number_of_ranks(), loops, &loops.back());
  }
}

void two_shapes_by_turns(const Options& options) {
  for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{10, 12}, {100, 50}}) {
    Layer first(n);
    Layer second(m);
    std::vector<Loop> loops{{"dsop()",
                             [&] {
                               first.by_function();
                               second.by_function();
                             },
                             2},
                            {"OuterProduct::run of two objects",
                             [&] {
                               first.by_object();
                               second.by_object();
                             },
                             2}};
    measure_by_turns(loops, options.seconds);
    print_times(options, "two_shapes_by_turns", std::to_string(n) + ", " + std::to_string(m), number_of_ranks(), loops,
                &loops.back());
  }
}

void changing_pairs(const Options& options) {
  const auto rank = static_cast<unsigned>(rank_of_this());
  const std::size_t fixed = rank % 2 == 0 ? 4 : 5;  // 4.5 on average, as those that are drawn
  std::minstd_rand random(rank + 1);
  std::uniform_int_distribution<std::size_t> draw(1, 8);
  for (const std::size_t n : {std::size_t{10}, std::size_t{100}}) {
    Layer layer(n, 8);
    const std::array<std::pair<std::string, std::function<void(std::size_t)>>, 2> ways{
        {{"OuterProduct::run", [&](std::size_t pairs) { layer.by_object(pairs); }},
         {"dsop()", [&](std::size_t pairs) { layer.by_function(pairs); }}}};
    for (const auto& [name, call] : ways) {
      std::vector<Loop> loops{{name + ", 1 to 8 pairs", [&, &one = call] { one(draw(random)); }},
                              {name + ", 4 or 5 pairs", [&, &one = call] { one(fixed); }}};
      measure_by_turns(loops, options.seconds);
      print_times(options, "changing_pairs", square(n), number_of_ranks(), loops, &loops.back());
    }
  }
}

}  // namespace calls
