// The probe over real MPI: what is measured, duplicates that inherit it, ranks that are late in it.
#include <catch2/catch.hpp>

#include <dsop/collectives.hpp>
#include <dsop/counting.hpp>
#include <dsop/mpi.hpp>

#include "mpi_failures.hpp"
#include "patterns/of_all_ranks.hpp"
#include "probed_transport.hpp"
#include "stall_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

bool is_same_everywhere(Transport& transport, double number) {
  const auto all = patterns::of_all_ranks(transport, number);
  return std::all_of(all.begin(), all.end(), [&](double other) { return other == all[0]; });
}

// What a probe of `communicator` would send.
Traffic probe_of(MPI_Comm communicator) {
  CountingTransport counting(TransportOf<MPI_Comm>::get(communicator));
  static_cast<void>(machine(counting));
  return counting.probe();
}

}  // namespace

TEST_CASE("a communicator of MPI's is measured, once") {
  Failures failures;
  MPI_Comm fresh = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &fresh);
  {
    CountingTransport counting(TransportOf<MPI_Comm>::get(fresh));
    std::vector<float> data(100, 1);
    allreduce<float>(counting, data, {.algorithm = "ring"});
    failures.check(counting.probe() == Traffic{}, "a named algorithm measures");
    allreduce<float>(counting, data);
    const Traffic probe = counting.probe();
    failures.check((probe.messages > 0) == (counting.size() > 1), "auto has not measured, or one rank has");
    const Machine measured = machine(fresh);
    failures.check(counting.probe() == probe, "it is measured twice");
    check_machine(measured);
    failures.check(is_same_everywhere(counting, measured.flops_per_second) &&
                       is_same_everywhere(counting, measured.ring_step_seconds.back()) &&
                       is_same_everywhere(counting, measured.native_allreduce_seconds.back()),
                   "ranks have other machines");
    failures.check(counting.size() == 1 || measured.native_seconds(1000, counting.size()) > 0,
                   "MPI's own allreduce is not measured");
    failures.check(counting.size() == 1 || measured.measured_on.nodes == 1, "the ranks of one machine have nodes");
    OuterProduct<float> layer(fresh, {2000, 2000, 500}, {.allow_native = true});
    failures.check(layer.plan().machine == measured, "a layer plans for another machine");
  }
  MPI_Comm_free(&fresh);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("duplicates inherit what is measured, and those made before are measured themselves") {
  Failures failures;
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &parent);
  MPI_Comm before = MPI_COMM_NULL;
  MPI_Comm_dup(parent, &before);
  const Machine measured = machine(parent);
  MPI_Comm after = MPI_COMM_NULL;
  MPI_Comm_dup(parent, &after);
  MPI_Comm of_duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(after, &of_duplicate);
  MPI_Comm_free(&parent);

  const Traffic whole = probe_of(before);
  for (MPI_Comm* const duplicate : {&of_duplicate, &after}) {
    const Traffic traffic = probe_of(*duplicate);
    failures.check(whole == Traffic{} || traffic.messages < whole.messages / 4, "a duplicate is measured");
    failures.check(machine(*duplicate) == measured, "a duplicate has another machine");
  }
  for (MPI_Comm* const communicator : {&before, &after, &of_duplicate}) MPI_Comm_free(communicator);
  CHECK(failures_of_all(failures) == "");
}

TEST_CASE("a rank that is late in a probe is named") {
  Failures failures;
  MPI_Comm fresh = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &fresh);
  {
    ProbedTransport transport(TransportOf<MPI_Comm>::get(fresh), {}, {});
    const int last = transport.size() - 1;
    Reports reports;
    set_stall_watch(transport, reports.watch(0.6));
    transport.at_look([&](int look) {
      if (look == ProbedTransport::look_at_messages && transport.rank() == last) sleep_seconds(4);
    });
    static_cast<void>(machine(transport));
    set_stall_watch(transport, {.limit_seconds = 0});
    const std::vector<Stall> stalls = reports.taken();
    failures.check(transport.rank() == last || !stalls.empty(), "nothing is reported");
    for (const Stall& stall : stalls)
      failures.check(transport.rank() == last || (stall.operation == "measuring the machine" &&
                                                  std::ranges::count(stall.missing_ranks, last) == 1),
                     stall.text());  // on cores that are busy others may not answer in time either
  }
  MPI_Comm_free(&fresh);
  CHECK(failures_of_all(failures) == "");
}

int main(int argc, char** argv) {
  return run_tests_over_mpi(argc, argv, MPI_THREAD_FUNNELED);
}
