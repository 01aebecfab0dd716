// Over real MPI: the same sweep as on threads, and what only MPI has. Every rank runs every test to its end; failures
// of any rank fail all.
#include <catch2/catch.hpp>

#include <bit>
#include <map>

#include <dsop/mpi.hpp>
#include <dsop/synchronizer.hpp>

#include "collectives_cases.hpp"
#include "compare/openmpi.hpp"
#include "mpi_failures.hpp"
#include "outer_product_sweep.hpp"
#include "rival_cases.hpp"
#include "sparse_allreduce_cases.hpp"
#include "told_cases.hpp"
#include "topk_cases.hpp"
#include "transport/mpi_library.hpp"
#include "transport/mpi_transport.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

void sweep(Transport& transport, Failures& failures) {
  const auto fail = [&](const std::string& text) { failures.add(text); };
  sweep_outer_products(transport, sweep_cases(transport.size()), fail);
  sweep_bits(transport, fail);
}

}  // namespace

TEST_CASE("what MPI libraries' own sums promise is known by their names and versions") {
  for (const char* const library :
       {"Open MPI v4.1.4", "Open MPI v5.0.11", "MPICH Version:\t4.0.2", "MPICH Version: 4.3.1"})
    CHECK(sums_have_same_bits(library));
  for (const char* const library : {"Open MPI v6.0.0", "MPICH Version:      5.0.2", "MPICH Version: 3.4.2",
                                    "Intel(R) MPI Library 2021.18 for Linux* OS", ""})
    CHECK_FALSE(sums_have_same_bits(library));
  for (const char* const library : {"MPICH Version: 3.3", "MPICH Version:\t4.0.2", "MPICH Version: 4.1.1"})
    CHECK_FALSE(reduces_in_place(library));
  for (const char* const library :
       {"Open MPI v4.1.4", "MPICH Version: 4.2.0", "MPICH Version: 5.0.2", "MPICH Version: 3.2"})
    CHECK(reduces_in_place(library));
}

TEST_CASE("every outer-product algorithm is exact over MPI") {
  Failures failures;
  sweep(world(), failures);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("every sparse allreduce is exact over MPI") {
  Failures failures;
  const auto cases = sparse_case_sums<float>(world().size());
  check_sparse_sums(world(), cases, failures);
  check_sparse_sums(world(), sparse_case_sums<double>(world().size()), failures);
  MpiTransport in_pieces(MPI_COMM_WORLD, 60);
  check_sparse_sums(in_pieces, cases, failures);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("ranks of another version are refused on all ranks of MPI, and leave no communicator") {
  Failures failures;
  int freed = 0;  // duplicates of this communicator, which inherit its attribute
  const auto count = [](MPI_Comm, int, void* counter, void*) {
    ++*static_cast<int*>(counter);
    return MPI_SUCCESS;
  };
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count, &key, nullptr);
  MPI_Comm_set_attr(communicator, key, &freed);
  const int last = world().size() - 1;
  std::string error;
  try {
    const MpiTransport transport(communicator, 60, world().rank() == last ? "9.8.7, record format 65" : own_version());
  } catch (const TransportError& refused) {
    error = refused.what();
  }
  failures.check(error == (last == 0 ? ""
                                     : "the ranks disagree: dsop is " + own_version() +
                                           ", on rank 0; 9.8.7, record format 65, on rank " + std::to_string(last)),
                 error);
  failures.check(freed == 1, std::to_string(freed) + " duplicates were freed");
  MPI_Comm_free(&communicator);
  MPI_Comm_free_keyval(&key);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("every selecting allreduce loses nothing over MPI") {
  Failures failures;
  check_topk<float>(world(), failures);
  MpiTransport in_pieces(MPI_COMM_WORLD, 60);
  check_topk<double>(in_pieces, failures);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("what selects may be summed by the MPI library, and is described so") {
  Failures failures;
  Synchronizer<float> synchronizer(world());
  synchronizer.add("w", {.rows = 40, .columns = 5, .max_pairs = 0}, "topk(dense-mpi):0.1");
  const std::string text = synchronizer.describe();
  failures.check(text.find("topk(dense-mpi)") != std::string::npos, text);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("every collective on dense vectors is exact over MPI") {
  Failures failures;
  check_collectives<float>(world(), failures);
  check_collectives<double>(world(), failures);
  check_bits_of_collectives<float>(world(), failures);
  MpiTransport in_pieces(MPI_COMM_WORLD, 60);
  check_collectives<double>(in_pieces, failures);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("ranks of one node pool their factors over MPI") {
  Failures failures;
  const std::vector<std::size_t> pairs(static_cast<std::size_t>(world().size()), 2);
  failures.check(world().node() == 0, "the ranks of one machine do not share a node");
  if (world().size() > 1) {
    failures.check(wrong_elements<float>(world(), "hierarchical", {33, 17, pairs, 2, true, 1}).empty(), "f32 is wrong");
    failures.check(different_bits<double>(world(), "hierarchical", 33, 17, 9).empty(), "f64 differs");
  }
  CHECK(failures_of_all(failures) == "");
}

// Longer than what MPI sends at once; the plain sum of more pairs takes longer than all else.
TEST_CASE("long messages travel over MPI while their ranks compute") {
  Failures failures;
  const Case c{3000, 700, std::vector<std::size_t>(static_cast<std::size_t>(world().size()), 4), 1, false, 0};
  for (const std::string& algorithm :
       std::vector<std::string>{"replicated-rabenseifner(0.5)", "allgather-overlapped(2)",
                                "generalized-rabenseifner-pipelined(2)", "generalized-rabenseifner-pipelined-rows(2)",
                                "allreduce-ring-pipelined(2)", "allreduce-butterfly-pipelined(2)"}) {
    const std::string wrong = wrong_elements<float>(world(), algorithm, c);
    failures.check(wrong.empty(), algorithm + ": " + wrong);
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("every rank keeps its rows over MPI, and bf16 travels") {
  Failures failures;
  const bench::InputFactors<float> own(1, world().rank(), 1, 50, 3);
  std::vector<float> G(150);
  dsop::dsop<float>(world(), own.view(), {G.data(), 50, 3}, {.algorithm = "allreduce-ring"});
  OuterProduct<float> layer(world(), {50, 3, 1});
  const std::size_t first = layer.plan().row_bounds[static_cast<std::size_t>(world().rank())];
  const std::size_t count = layer.plan().row_bounds[static_cast<std::size_t>(world().rank()) + 1] - first;
  std::vector<float> rows(count * 3);
  layer.run_sharded(own.view(), {rows.data(), count, 3});
  failures.check(std::equal(rows.begin(), rows.end(), G.begin() + static_cast<std::ptrdiff_t>(first * 3)),
                 "the rows are wrong");
  for (const char* const algorithm : {"generalized-rabenseifner", "allreduce-ring"}) {
    std::vector<float> rounded(150);  // small whole numbers lose nothing in 16 bits
    dsop::dsop<float>(world(), own.view(), {rounded.data(), 50, 3}, {.algorithm = algorithm, .wire = Wire::bf16});
    failures.check(rounded == G, std::string(algorithm) + " is wrong as bf16");
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("messages longer than MPI's counts travel in pieces") {
  // 60 bytes is no multiple of a double's size, and far below what these messages have.
  Failures failures;
  MpiTransport transport(MPI_COMM_WORLD, 60);
  for (const std::string& algorithm : usable_algorithms(transport)) {
    const Case c{33, 17, std::vector<std::size_t>(static_cast<std::size_t>(transport.size()), 3), 1, false, 0};
    failures.check(wrong_elements<float>(transport, algorithm, c).empty(), algorithm + " f32 is wrong in pieces");
    failures.check(wrong_elements<double>(transport, algorithm, c).empty(), algorithm + " f64 is wrong in pieces");
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("messages travel in the machine's pieces, or whole") {
  Failures failures;
  MpiTransport transport(MPI_COMM_WORLD);
  const int P = transport.size();
  const std::vector<int> out(5000, transport.rank());  // longer than a piece, inside a node and between nodes
  std::vector<int> in(out.size());
  const auto pass_on = [&] {
    const int left = (transport.rank() + P - 1) % P;
    transport.sendrecv(std::span(out), (transport.rank() + 1) % P, std::span(in), left);
    failures.check(in == std::vector<int>(in.size(), left), "another message came");
  };
  // 20 KB in pieces of 6 KB; of 4.9 KB they are too many for a node.
  for (const double piece_bytes : {6000.0, 4900.0, 0.0, 1e300}) {
    const Machine machine{.piece_bytes = piece_bytes, .inner_levels = {{.piece_bytes = piece_bytes}}};
    std::vector<float> data(5000, 1);
    allreduce<float>(transport, data, {.algorithm = "ring", .machine = machine});
    failures.check(data == std::vector<float>(5000, static_cast<float>(P)), "the sum is wrong");
    pass_on();
  }
  // Who receives whole what is sent in pieces gets the first piece.
  if (P == 2) {
    const double piece_bytes = transport.rank() == 1 ? 1024 : 0;
    transport.use_pieces_of({.piece_bytes = piece_bytes, .inner_levels = {{.piece_bytes = piece_bytes}}});
    if (transport.rank() == 1) {
      transport.send(std::span(out).first(700), 0);
    } else {
      CHECK_THROWS_AS(transport.recv(std::span(in).first(700), 1), TransportError);
    }
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("a receive over MPI is told how much has come, where it knows a bound alone") {
  Failures failures;
  check_told_lengths(world(), {0, 1, 4031, 4032, 4033, 20'000, 200'000}, failures);
  MpiTransport in_pieces(MPI_COMM_WORLD, 60);
  check_told_lengths(in_pieces, {0, 59, 60, 61, 1000}, failures);
  MpiTransport between_nodes(MPI_COMM_WORLD);
  for (const double piece_bytes : {0.0, 1024.0}) {
    between_nodes.use_pieces_of({.piece_bytes = piece_bytes, .inner_levels = {{.piece_bytes = piece_bytes}}});
    check_told_lengths(between_nodes, {1023, 1024, 5000}, failures);
  }
  CHECK(failures_of_all(failures) == "");
  if (world().size() < 2) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // as below
  for (const std::size_t room_bytes : {50UL, 70UL}) {
    MpiTransport transport(MPI_COMM_WORLD, 60);
    const std::string error = error_of_too_long(transport, 90, room_bytes);
    const std::string expected = room_bytes == 50 ? "receiving at most 50 bytes on rank 0 from rank 1 failed: "
                                                  : "receiving 90 bytes on rank 0 from rank 1: there is room for 70";
    failures.check(world().rank() != 0 || error.starts_with(expected), error);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  CHECK(failures_of_all(failures) == "");
}

// Hidden: chosen where ranks have other kernels or threads than others.
TEST_CASE("the bits are the same where cores and threads differ", "[.][bits]") {
  Failures failures;
  for (const std::string& algorithm : usable_algorithms(world()))
    for (const std::size_t k : {3UL, 100UL}) {
      failures.check(different_bits<float>(world(), algorithm, 300, 211, k).empty(), algorithm + " f32 differs");
      failures.check(different_bits<double>(world(), algorithm, 211, 300, k).empty(), algorithm + " f64 differs");
    }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("a layer works on a part of the ranks, in another order") {
  Failures failures;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
  {
    OuterProduct<float> layer(part, {.rows = 3, .columns = 2, .max_pairs = 1});
    const float a[] = {1, 2, 3};
    const float b[] = {1, static_cast<float>(rank)};
    float G[6] = {};
    layer.run({{a, 1, 3}, {b, 1, 2}}, {G, 3, 2});
    int size = 0;
    MPI_Comm_size(part, &size);
    float ranks_sum = 0;
    MPI_Allreduce(&b[1], &ranks_sum, 1, MPI_FLOAT, MPI_SUM, part);
    failures.check(G[4] == 3.0F * static_cast<float>(size) && G[5] == 3 * ranks_sum, "G is wrong on a part");
  }
  MPI_Comm_free(&part);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("communicators are freed with those that they were made from") {
  // Open MPI runs out of communicators after some ten thousand. Each rank is alone with its own.
  if (world().size() > 1) return;
  Failures failures;
  for (int i = 0; i < 20000; ++i) {
    MPI_Comm mine = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &mine);
    try {
      const float a = 2;
      float G = 0;
      dsop::dsop(mine, {{&a, 1, 1}, {&a, 1, 1}}, MatrixView<float>(&G, 1, 1));
      failures.check(G == 4, "G is wrong");
    } catch (const Error& error) {
      failures.add(error.what());
      break;
    }
    MPI_Comm_free(&mine);
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("a bad argument on one rank throws on all, and the communicator still works") {
  Failures failures;
  const int last = world().size() - 1;
  std::vector<float> G(6);
  const bench::InputFactors<float> own(1, world().rank(), 1, world().rank() == last ? 4 : 3, 2);
  const std::string error = argument_error_of([&] { dsop::dsop<float>(world(), own.view(), {G.data(), 3, 2}); });
  failures.check(error == "rank " + std::to_string(last) + ": a.columns is 4, expected gradient.rows = 3", error);
  const Case good{3, 4, std::vector<std::size_t>(static_cast<std::size_t>(last) + 1, 2), 1, false, 0};
  failures.check(wrong_elements<float>(world(), "auto", good).empty(), "the next call is wrong");
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("ranks that disagree throw over MPI too") {
  Failures failures;
  std::vector<float> G(6);
  const bool first = world().rank() == 0;
  const std::string error = argument_error_of([&] {
    dsop::dsop<float>(world(), {}, {G.data(), 3, 2}, {.scale = first ? 0.5 : 1});
  });
  if (world().size() > 1)
    failures.check(error.starts_with("the ranks disagree: scale is 0.5 on rank 0, 1 on rank"), error);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("a message of another length is an error that names both") {
  if (world().size() < 2) return;
  Failures failures;
  // MPICH 4.0 gives errors of waiting to MPI_COMM_WORLD's handler, whatever communicator the message is of.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<char> memory(8);
  MpiTransport transport(MPI_COMM_WORLD);
  for (const std::size_t bytes : {5UL, 8UL, 3UL})
    if (transport.rank() == 0) transport.send(std::span(memory).first(bytes), 1);
  if (transport.rank() == 1) {
    const auto error_of_receiving = [&](std::size_t bytes) -> std::string {
      try {
        transport.recv(std::span(memory).first(bytes), 0);
      } catch (const TransportError& failure) {
        return failure.what();
      }
      return "";
    };
    const std::string too_short = error_of_receiving(8);
    failures.check(too_short == "receiving 8 bytes on rank 1 from rank 0: 5 bytes came", too_short);
    const std::string too_long = error_of_receiving(5);
    failures.check(too_long.starts_with("receiving 5 bytes on rank 1 from rank 0 failed: "), too_long);
    const std::string after_it = error_of_receiving(3);
    failures.check(after_it.empty(), after_it);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("every rival is exact over MPI") {
  Failures failures;
  sweep_rivals(world(), [&](const std::string& text) { failures.add(text); });
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("Open MPI runs the algorithm that was forced, or the one it is known to fall back to") {
  struct Forced {
    std::string asked;
    std::string for_one_element;   // fewer than ranks
    std::string for_many;          // less than a segment a rank
    std::string for_long_vectors;  // some segments a rank
  };
  const Forced table[] = {
      {"basic_linear", "basic_linear", "basic_linear", "basic_linear"},
      {"nonoverlapping", "nonoverlapping", "nonoverlapping", "nonoverlapping"},
      {"recursive_doubling", "recursive_doubling", "recursive_doubling", "recursive_doubling"},
      {"ring", "recursive_doubling", "ring", "ring"},
      {"segmented_ring", "recursive_doubling", "ring", "segmented_ring"},
      {"rabenseifner", "basic_linear", "rabenseifner", "rabenseifner"},
  };
  Failures failures;
  const std::string prefix = "openmpi-allreduce-";
  const auto ranks = static_cast<std::size_t>(world().size());
  for (const Forced& forced : table) {
    const bench::Rival& rival = *bench::rivals().find(prefix + forced.asked);
    if (!rival.unsupported(world()).empty()) continue;
    const auto check = [&](std::size_t elements, const std::string& expected) {
      const std::string used = used_for(world(), rival, elements);
      failures.check(used == prefix + (ranks == 1 ? "none" : expected),
                     rival.name + " of " + std::to_string(elements) + " elements ran as " + used);
    };
    check(1, forced.for_one_element);
    check(1000, forced.for_many);
    check(ranks * (std::size_t{1} << 19), forced.for_long_vectors);
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("Open MPI runs the allgather that was forced, or the one it is known to fall back to") {
  const int P = world().size();
  const std::map<std::string, std::string> runs = {
      {"linear", "linear"},
      {"bruck", "bruck"},
      {"recursive_doubling", std::has_single_bit(static_cast<unsigned>(P)) ? "recursive_doubling" : "bruck"},
      {"ring", "ring"},
      {"neighbor", P % 2 == 0 ? "neighbor" : "ring"},
      {"two_proc", "two_proc"},
  };
  Failures failures;
  const std::string prefix = "openmpi-allgather-";
  for (const auto& [asked, expected] : runs) {
    const bench::Rival& rival = *bench::rivals().find(prefix + asked);
    const std::string unsupported = rival.unsupported(world());
    if (bench::compare::openmpi_unavailable(world()).empty())
      failures.check(unsupported == (asked == "two_proc" && P != 2 ? "swaps the blocks of two ranks" : ""),
                     rival.name + ": " + unsupported);
    if (!unsupported.empty()) continue;
    for (const std::size_t elements : {std::size_t{1}, std::size_t{1} << 19}) {
      const std::string used = used_for(world(), rival, elements);
      failures.check(used == prefix + (P == 1 ? "none" : expected),
                     rival.name + " of " + std::to_string(elements) + " elements ran as " + used);
    }
  }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("Open MPI runs the allreduce that the formula of its cost takes it to run") {
  const std::map<std::string, std::string> ours = {{"recursive_doubling", "butterfly"},
                                                   {"ring", "ring"},
                                                   {"segmented_ring", "ring"},
                                                   {"rabenseifner", "rabenseifner"}};
  Failures failures;
  const bool seen = bench::compare::openmpi_unavailable(world()).empty() && world().size() > 1;
  for (std::size_t elements = 1; seen && elements <= (1 << 17); elements *= 2)
    for (const std::size_t length : {elements, 2 * elements - 1}) {
      std::vector<float> data(length);
      bench::compare::forget_openmpi_algorithm();
      world().native().allreduce(std::as_writable_bytes(std::span(data)), DataType::f32);
      const std::string ran = bench::compare::openmpi_algorithm_that_ran();
      const DenseProblem problem{
          .elements = length, .ranks = world().size(), .type = DataType::f32, .group = {.native = true}};
      const Cost mpi = dense_algorithms().find("mpi")->cost(problem, Machine{}, 0);
      failures.check(ours.contains(ran) &&
                         mpi.seconds() == dense_algorithms().find(ours.at(ran))->cost(problem, Machine{}, 0).seconds(),
                     std::to_string(length) + " elements ran as " + ran);
    }
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("handles that are no communicator are refused") {
  Failures failures;
  const std::string error = argument_error_of([] { TransportOf<MPI_Comm>::get(MPI_COMM_NULL); });
  failures.check(error == "communicator is MPI_COMM_NULL, expected a communicator", error);
  CHECK(failures_of_all(failures) == "");
}

int main(int argc, char** argv) {
  bench::compare::let_openmpi_be_forced();
  return run_tests_over_mpi(argc, argv, MPI_THREAD_FUNNELED);
}
