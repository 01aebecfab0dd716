// Bad calls: every rank gets the same clear error, nobody hangs, and the communicator still works afterwards.
#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>

#include <dsop/algorithms.hpp>

#include "call/same_bits.hpp"
#include "failures.hpp"
#include "outer_product_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

struct Arguments {
  Factors<float> factors;
  MatrixView<float> gradient;
  Options options = {};
};

// Three ranks make a good call that `spoil` may have spoilt on some; all must throw exactly `expected`, and the next,
// good call must work.
std::string failures_when(const std::string& expected, const std::function<void(int, Arguments&)>& spoil) {
  return failures_on_threads(3, [&](Transport& transport, Failures& failures) {
    const bench::InputFactors<float> own(1, transport.rank(), 2, 3, 4);
    std::vector<float> G(12);
    Arguments arguments{own.view(), {G.data(), 3, 4}};
    spoil(transport.rank(), arguments);
    const std::string error = argument_error_of(
        [&] { dsop::dsop<float>(transport, arguments.factors, arguments.gradient, arguments.options); });
    failures.check(error == expected, "rank " + std::to_string(transport.rank()) + " threw \"" + error + '"');
    const Case good{3, 4, {2, 2, 2}, 1, false, 0};
    const std::string wrong = wrong_elements<float>(transport, "auto", good);
    failures.check(wrong.empty(), wrong);
  });
}

}  // namespace

TEST_CASE("results that differ are found where one rank asks for it, and name the ranks") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const bench::InputFactors<float> own(1, transport.rank(), 2, 3, 4);
          std::vector<float> G(12);
          const auto error_after = [&](float spoilt) {
            if (transport.rank() == 1) G[7] = spoilt;
            try {
              dsop::dsop<float>(transport, own.view(), {G.data(), 3, 4},
                                {.beta = 1, .check_bits = transport.rank() == 2});
            } catch (const Error& error) {
              return std::string(error.what());
            }
            return std::string();
          };
          failures.check(error_after(G[7]).empty(), "equal results differ");
          const std::string error = error_after(-1e9F);
          failures.check(error.starts_with("check_bits: the results differ") &&
                             error.find(" on ranks 0, 2") != std::string::npos &&
                             error.find(" on rank 1") != std::string::npos,
                         "threw \"" + error + '"');
        }) == "");
}

TEST_CASE("check_bits sees signs, however many") {
  const std::array<double, 2> zeros{0, 0}, negative{-0.0, -0.0};
  CHECK(hash_of_bits<double>({zeros.data(), 1, 2}) != hash_of_bits<double>({negative.data(), 1, 2}));
}

TEST_CASE("a bad argument on one rank throws on all") {
  CHECK(failures_when("rank 1: b.rows is 1, expected a.rows = 2 (one of each a pair)", [](int rank, Arguments& a) {
          if (rank == 1) a.factors.b.rows = 1;
        }) == "");
  CHECK(failures_when("rank 0: a.columns is 2, expected gradient.rows = 3", [](int rank, Arguments& a) {
          if (rank == 0) a.factors.a.columns = 2;
        }) == "");
  CHECK(failures_when("rank 2: b.columns is 5, expected gradient.columns = 4", [](int rank, Arguments& a) {
          if (rank == 2) a.factors.b.columns = a.factors.b.stride = 5;
        }) == "");
  CHECK(
      failures_when("rank 2: gradient.stride is 3, expected at least gradient.columns = 4", [](int rank, Arguments& a) {
        if (rank == 2) a.gradient.stride = 3;
      }) == "");
  CHECK(failures_when("rank 1: gradient.data is null, expected memory for its elements", [](int rank, Arguments& a) {
          if (rank == 1) a.gradient.data = nullptr;
        }) == "");
  CHECK(failures_when("rank 1: a.data is at an address 1 bytes beyond an element's, expected a multiple of 4",
                      [](int rank, Arguments& a) {
                        const auto beyond = reinterpret_cast<std::uintptr_t>(a.factors.a.data) + 1;
                        if (rank == 1) a.factors.a.data = reinterpret_cast<const float*>(beyond);
                      }) == "");
  CHECK(failures_when("rank 1: a.data is null, expected memory for its elements", [](int rank, Arguments& a) {
          if (rank == 1) a.factors.a.data = nullptr;
        }) == "");
  CHECK(failures_when("rank 2: b.data is null, expected memory for its elements", [](int rank, Arguments& a) {
          if (rank == 2) a.factors.b.data = nullptr;
        }) == "");
  CHECK(failures_when("rank 1: gradient overlaps the factors' range of memory, expected one of its own",
                      [](int rank, Arguments& a) {
                        if (rank == 1) a.gradient.data = const_cast<float*>(a.factors.b.data) + 1;
                      }) == "");
  CHECK(failures_when("rank 1: scale is 1e+39, expected a finite number in f32", [](int rank, Arguments& a) {
          if (rank == 1) a.options.scale = 1e39;
        }) == "");
  CHECK(failures_when("ranks 0-2: machine.flops_per_second is 0, expected a finite number above 0",
                      [](int, Arguments& a) { a.options.machine = Machine{.flops_per_second = 0}; }) == "");
  CHECK(failures_when("rank 0: gradient overlaps the factors' range of memory, expected one of its own",
                      [](int rank, Arguments& a) {
                        if (rank == 0) a.gradient.data = const_cast<float*>(a.factors.a.data) - 1;
                      }) == "");
  CHECK(failures_when("rank 1: scale is nan, expected a finite number in f32", [](int rank, Arguments& a) {
          if (rank == 1) a.options.scale = std::nan("");
        }) == "");
  CHECK(failures_when("ranks 0-2: gradient of 4611686018427387904 x 4 x 4 bytes does not fit into memory",
                      [](int, Arguments& a) { a.gradient.rows = std::size_t{1} << 62; }) == "");
}

TEST_CASE("several ranks' different errors are all told") {
  CHECK(failures_when(
            "rank 0: a.columns is 2, expected gradient.rows = 3; rank 2: scale is inf, expected a finite number in f32",
            [](int rank, Arguments& a) {
              if (rank == 0) a.factors.a.columns = 2;
              if (rank == 2) a.options.scale = std::numeric_limits<double>::infinity();
            }) == "");
}

TEST_CASE("an unknown algorithm lists the known ones") {
  std::string known;
  for (const std::string& name : algorithm_names()) known.append(known.empty() ? "" : ", ").append(name);
  CHECK(failures_when("rank 1: algorithm is allgater, expected auto or one of " + known, [](int rank, Arguments& a) {
          if (rank == 1) a.options.algorithm = "allgater";
        }) == "");
  CHECK(failures_when(
            "ranks 0-2: algorithm allreduce-mpi can't be used: it runs inside the MPI library, and these ranks do not "
            "use MPI",
            [](int, Arguments& a) { a.options.algorithm = "allreduce-mpi"; }) == "");
}

TEST_CASE("alpha and beta that are no numbers are errors") {
  CHECK(failures_when("rank 1: beta is nan, expected a finite number in f32", [](int rank, Arguments& a) {
          if (rank == 1) a.options.beta = std::numeric_limits<double>::quiet_NaN();
        }) == "");
  CHECK(failures_when("ranks 0-2: alpha is 1e+60, expected a finite number in f32",
                      [](int, Arguments& a) { a.options.alpha = 1e60; }) == "");
  CHECK(failures_when("the ranks disagree: alpha is 1 on ranks 0-1, 2 on rank 2; beta is 0 on ranks 0-1, 0.5 on rank 2",
                      [](int rank, Arguments& a) {
                        if (rank < 2) return;
                        a.options.alpha = 2;
                        a.options.beta = 0.5;
                      }) == "");
}

TEST_CASE("ranks that disagree throw, naming ranks and values") {
  CHECK(failures_when("the ranks disagree: rows is 2 on rank 1, 3 on ranks 0, 2", [](int rank, Arguments& a) {
          if (rank == 1) a.gradient.rows = a.factors.a.columns = 2;
        }) == "");
  CHECK(failures_when("the ranks disagree: algorithm is allgather on ranks 0-1, auto on rank 2",
                      [](int rank, Arguments& a) {
                        if (rank < 2) a.options.algorithm = "allgather";
                      }) == "");
  CHECK(failures_when("the ranks disagree: scale is 0.5 on rank 0, 1 on ranks 1-2; beta is 0 on ranks 1-2, 1 on rank 0",
                      [](int rank, Arguments& a) {
                        if (rank == 0) a.options.scale = 0.5;
                        if (rank == 0) a.options.beta = 1;
                      }) == "");
}

TEST_CASE("ranks that plan for different machines throw") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          Machine machine;
          if (transport.rank() == 1) machine.latency_seconds *= 2;
          std::vector<float> G(4);
          const MatrixView<float> view(G.data(), 2, 2);
          const std::string error =
              argument_error_of([&] { dsop::dsop<float>(transport, {}, view, {.machine = machine}); });
          failures.check(error.starts_with("the ranks disagree: machine.latency_seconds is "), error);
        }) == "");
}

TEST_CASE("a communicator can be used again after its ranks called different things") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          std::vector<float> G(4);
          const MatrixView<float> view(G.data(), 2, 2);
          const std::string error = argument_error_of([&] {
            if (transport.rank() == 0)
              dsop::dsop<float>(transport, {}, view);
            else
              OuterProduct<float>(transport, {2, 2, 1});
          });
          failures.check(error.find("the operation is outer product on rank 0") != std::string::npos, error);
          OuterProduct<float> layer(transport, {2, 2, 1});
          layer.run({}, view);
        }) == "");
}

TEST_CASE("a layer keeps its algorithm and the reason for it, whatever the numbers of pairs") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          OuterProduct<float> layer(transport, {.rows = 20, .columns = 10, .max_pairs = 400});
          const std::string algorithm = layer.plan().algorithm_name();
          const std::string reason = layer.plan().reason;
          std::vector<float> G(20 * 13);
          for (const std::size_t k : {400UL, 1UL, 0UL, 17UL}) {
            const bench::InputFactors<float> own(1, transport.rank(), k, 20, 10);
            layer.run(own.view(), {G.data(), 20, 10, 10 + k % 3});  // with gaps now and then
            failures.check(layer.plan().algorithm_name() == algorithm, "another algorithm");
            failures.check(layer.plan().reason == reason, "another reason: " + layer.plan().reason);
            std::vector<float> expected(10);
            for (int r = 0; r < 3; ++r)
              bench::add_reference_row<float>(bench::InputFactors<float>(1, r, k, 20, 10).view(), 19, 1.0F, expected);
            const float* const last_row = G.data() + 19 * (10 + k % 3);
            failures.check(std::equal(expected.begin(), expected.end(), last_row), "G is wrong");
          }
        }) == "");
}

TEST_CASE("the stride of a single row means nothing") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          for (const std::string& algorithm : usable_algorithms(transport)) {
            const bench::InputFactors<float> own(1, transport.rank(), 300, 1, 5);
            std::vector<float> G(5);
            const std::size_t stride = transport.rank() == 0 ? 0 : std::size_t{1} << 33;
            dsop::dsop<float>(transport, own.view(), {G.data(), 1, 5, stride}, {.algorithm = algorithm});
            std::vector<float> expected(5);
            for (int r = 0; r < 2; ++r)
              bench::add_reference_row<float>(bench::InputFactors<float>(1, r, 300, 1, 5).view(), 0, 1.0F, expected);
            failures.check(G == expected, algorithm + " is wrong");
          }
        }) == "");
}

TEST_CASE("ranks that disagree about the data type throw") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          std::vector<double> memory(8);
          std::string error;
          if (transport.rank() == 0) {
            const MatrixView<double> view(memory.data(), 1, 1);
            error = argument_error_of([&] { dsop::dsop<double>(transport, {}, view); });
          } else {
            float element = 0;
            const MatrixView<float> view(&element, 1, 1);
            error = argument_error_of([&] { dsop::dsop<float>(transport, {}, view); });
          }
          failures.check(error == "the ranks disagree: data type is f32 on rank 1, f64 on rank 0", error);
        }) == "");
}

TEST_CASE("ranks that disagree about the order of calls throw") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          OuterProduct<float> first(transport, {2, 2, 1});
          OuterProduct<float> second(transport, {2, 2, 1});
          std::vector<float> G(4);
          OuterProduct<float>& mine = transport.rank() == 0 ? first : second;
          const std::string error = argument_error_of([&] { mine.run({}, {G.data(), 2, 2}); });
          failures.check(
              error ==
                  "the ranks disagree: the object whose call it is (0: none, i: made by call i) is 1 on rank 0, 2 on "
                  "rank 1",
              error);
        }) == "");
}

TEST_CASE("a layer holds its caller to its shape") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          OuterProduct<float> layer(transport, {.rows = 3, .columns = 4, .max_pairs = 2});
          const bench::InputFactors<float> three(1, transport.rank(), 3, 3, 4);
          std::vector<float> G(20);
          std::string error = argument_error_of([&] { layer.run(three.view(), {G.data(), 3, 4}); });
          failures.check(error == "ranks 0-1: the number of pairs is 3, expected at most the layer's max_pairs = 2",
                         error);
          error = argument_error_of([&] { layer.run({}, {G.data(), 4, 4}); });
          failures.check(error == "ranks 0-1: gradient.rows is 4, expected the layer's 3", error);
          error = argument_error_of([&] { layer.run({}, {G.data(), 3, 5}); });
          failures.check(error == "ranks 0-1: gradient.columns is 5, expected the layer's 4", error);
        }) == "");
}

TEST_CASE("a run without memory leaves a layer the plan that it had") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          const std::size_t side = std::size_t{1} << 24;
          OuterProduct<float> layer(transport, {side, side, 1}, {.algorithm = "generalized-rabenseifner"});
          float first = 0;
          // A gradient with gaps is made in other memory, of which there is not so much.
          const std::string error = argument_error_of([&] { layer.run({}, {&first, side, side, side + 1}); });
          failures.check(error.starts_with("ranks 0-1: no memory for a workspace of"), error);
          failures.check(layer.plan().algorithm_text() == "generalized-rabenseifner", layer.plan().algorithm_text());
          failures.check(layer.plan().problem.pairs == std::vector<std::size_t>{1, 1}, "the plan is another one");
        }) == "");
}

TEST_CASE("memory that is not there is an error on every rank") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          const std::size_t side = std::size_t{1} << 24;
          const std::string error = argument_error_of([&] {
            OuterProduct<float> layer(transport, {side, side, 1}, {.algorithm = "allreduce-butterfly"});
          });
          failures.check(error == "ranks 0-1: no memory for a workspace of 1125899906842624 bytes", error);
          const std::string wrong = wrong_elements<float>(transport, "auto", {3, 4, {1, 1}, 1, false, 0});
          failures.check(wrong.empty(), wrong);
        }) == "");
}

TEST_CASE("DSOP_ALGORITHM decides where the caller leaves it open") {
  setenv("DSOP_ALGORITHM", "allreduce-butterfly", 1);
  std::string by_environment;
  std::string by_caller;
  run_on_threads(2, [&](Transport& transport) {
    const OuterProduct<float> open(transport, {5, 5, 1});
    const OuterProduct<float> named(transport, {5, 5, 1}, {.algorithm = "allreduce-ring"});
    if (transport.rank() == 0) by_environment = open.plan().algorithm_name();
    if (transport.rank() == 0) by_caller = named.plan().algorithm_name();
  });
  setenv("DSOP_ALGORITHM", "rign", 1);
  const std::string unknown = failures_on_threads(2, [](Transport& transport, Failures& failures) {
    failures.add(argument_error_of([&] { OuterProduct<float>(transport, {5, 5, 1}); }).substr(0, 58));
  });
  unsetenv("DSOP_ALGORITHM");
  CHECK(unknown.starts_with("ranks 0-1: DSOP_ALGORITHM is rign, expected auto or one of"));
  CHECK(by_environment == "allreduce-butterfly");
  CHECK(by_caller == "allreduce-ring");
}
