// When the machine is measured that `auto` plans for, with ranks as threads by clocks that the tests make.
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <dsop/collectives.hpp>
#include <dsop/dsop.hpp>
#include <dsop/synchronizer.hpp>

#include "environment.hpp"
#include "probed_transport.hpp"
#include "stall_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

void sum(Transport& transport, const std::string& algorithm, Failures& failures) {
  std::vector<float> data(1000, 1);
  allreduce<float>(transport, data, {.algorithm = algorithm});
  failures.check(data[999] == static_cast<float>(transport.size()), algorithm + " is wrong");
}

}  // namespace

TEST_CASE("a probe ends in time") {
  struct Network {
    std::vector<int> nodes;
    Link between;
    Link inside;
    double kernel_seconds;
    double most_seconds;
  };
  constexpr Link inside_node{1e-6, 0.25e-9};
  for (const Network& network :
       {Network{nodes_of_one(8), {100e-6, 40e-9}, {}, 2e-3, 0.5},
        Network{nodes_of_one(8), {60e-6, 8e-9}, {}, 2e-3, 0.15},
        Network{{0, 0, 1, 1, 2, 2, 3, 3}, {100e-6, 40e-9}, inside_node, 2e-3, 0.5},
        Network{{0, 1, 0, 1, 0, 1, 0, 1}, {60e-6, 8e-9}, inside_node, 2e-3, 0.15},
        Network{{0, 0, 0, 0}, {}, inside_node, 2e-4, 0.01}, Network{{0, 0}, {}, {0.5e-6, 0.25e-9}, 2e-4, 0.01}})
    CHECK(failures_on_probed(network.nodes, network.between, network.inside,
                             [&](ProbedTransport& transport, Failures& failures) {
                               transport.cut({.handshake = 1e-4}, {.handshake = 1e-6});
                               transport.kernels_take(network.kernel_seconds);
                               const double before = transport.clock();
                               sum(transport, "auto", failures);
                               const double seconds = transport.clock() - before;
                               failures.check(seconds < network.most_seconds, "it takes " + std::to_string(seconds));
                             }) == "");
}

TEST_CASE("a burst that a shaper lets through makes no short message faster than long ones") {
  constexpr double rate_seconds = 8e-9;
  CHECK(failures_on_probed(nodes_of_one(4), {20e-6, rate_seconds, 1 << 18}, {},
                           [](ProbedTransport& transport, Failures& failures) {
                             const Machine measured = machine(transport);
                             for (std::size_t i = 0; i < step_bytes.size(); ++i) {
                               const double least = 0.9 * rate_seconds * static_cast<double>(step_bytes[i]);
                               failures.check(measured.ring_step_seconds[i] > least, "a ring's step is too fast");
                               failures.check(measured.exchange_step_seconds[i] > least, "an exchange is too fast");
                             }
                           }) == "");
}

TEST_CASE("a rank measures with few others") {
  CHECK(failures_on_probed(nodes_of_one(16), slow, {}, [](ProbedTransport& transport, Failures& failures) {
          sum(transport, "auto", failures);
          failures.check(transport.partners().size() <= 4 + 4 + 2,  // of a ring, a hypercube, and to agree
                         std::to_string(transport.partners().size()) + " partners");
        }) == "");
}

TEST_CASE("only what must choose measures, once, on a tag of its own") {
  CHECK(failures_on_probed({0, 1, 2}, slow, {}, [](ProbedTransport& inner, Failures& failures) {
          CountingTransport transport(inner);
          sum(transport, "ring", failures);
          sum(transport, "ring-pipelined", failures);
          std::vector<float> data(10, 1);
          allreduce<float>(transport, data, {.machine = Machine{}});
          OuterProduct<float> named(transport, {100, 100, 1}, {.algorithm = "allgather"});
          failures.check(transport.probe() == Traffic{}, "a call that need not choose measures");

          const Traffic ring = transport.payload();
          sum(transport, "auto", failures);
          const Traffic probe = transport.probe();
          failures.check(probe.messages > 100, "no probe is counted");
          failures.check((transport.payload() + Traffic{}).bytes <= ring.bytes + 3 * 4000, "it is counted as payload");
          sum(transport, "auto", failures);
          OuterProduct<float> layer(transport, {100, 100, 1});
          const Machine measured = machine(transport);
          failures.check(transport.probe() == probe, "it is measured again");
          failures.check(layer.plan().machine == measured && !(measured == Machine{}), "a layer plans for another");
          failures.check(measured.source == "probe of 3 ranks on 3 nodes", measured.source);
        }) == "");
}

TEST_CASE("ranks as threads keep their machine, and so does a rank alone") {
  CHECK(failures_on_threads(3, [](Transport& inner, Failures& failures) {
          CountingTransport transport(inner);
          sum(transport, "auto", failures);
          failures.check(machine(transport) == default_threads_machine() && transport.probe() == Traffic{},
                         "threads are measured");
        }) == "");
  CHECK(failures_on_probed({0}, slow, {}, [](ProbedTransport& transport, Failures& failures) {
          sum(transport, "auto", failures);
          failures.check(transport.looks() == 0, "one rank is measured");
        }) == "");
}

TEST_CASE("what a named algorithm leaves open does not depend on a probe") {
  CHECK(failures_on_probed({0, 1, 2}, slow, {}, [](ProbedTransport& transport, Failures& failures) {
          const Options options{.algorithm = "allreduce-ring-pipelined"};
          const auto parameter = [&] {
            return OuterProduct<float>(transport, {500, 500, 1}, options).plan().parameter;
          };
          const double before = parameter();
          static_cast<void>(machine(transport));
          failures.check(parameter() == before, "another parameter after the probe");
        }) == "");
}

TEST_CASE("a layer that DSOP_ALGORITHM names never measures") {
  const Environment named("DSOP_ALGORITHM", "allreduce-ring-pipelined");
  CHECK(failures_on_probed({0, 1, 2}, slow, {}, [](ProbedTransport& transport, Failures& failures) {
          OuterProduct<float> layer(transport, {500, 500, 1});
          const double before = layer.plan().parameter;
          std::vector<float> G(500 * 500);
          layer.run({}, {G.data(), 500, 500});
          failures.check(transport.looks() == 0, "run() has measured");
          failures.check(layer.plan().parameter == before, "another parameter in run()");
        }) == "");
}

TEST_CASE("a started call measures too, and a synchronizer where it is registered") {
  CHECK(failures_on_probed({0, 1}, slow, {}, [](ProbedTransport& transport, Failures& failures) {
          std::vector<float> data(100, 1);
          start_allreduce<float>(transport, data).wait();
          failures.check(data[0] == 2 && transport.looks() > 0, "a started call has not measured");
        }) == "");
  CHECK(failures_on_probed({0, 1}, slow, {}, [](ProbedTransport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport);
          synchronizer.add("named", {3, 5, 1}, "dense:ring");
          failures.check(transport.looks() == 0, "a named algorithm measures");
          synchronizer.add("open", {3, 5, 1}, "dense");
          failures.check(transport.looks() > 0, "add() has not measured");
          failures.check(synchronizer.describe().find("machine: probe of 2 ranks on 2 nodes\n") != std::string::npos,
                         synchronizer.describe());
        }) == "");
}

TEST_CASE("a clock that steps back is an error on all ranks, and the next call measures again") {
  CHECK(failures_on_probed({0, 1, 2}, slow, {}, [](ProbedTransport& transport, Failures& failures) {
          transport.at_look([&](int look) {
            if (transport.rank() == 1 && look == ProbedTransport::look_at_messages)
              transport.set_clock(transport.clock() - 8);
          });
          const std::string error = argument_error_of([&] { sum(transport, "auto", failures); });
          const std::string begin = "rank 1: the clock stepped back by ";
          failures.check(error.starts_with(begin) && error.ends_with(" s while the machine was measured"), error);
          const double seconds = std::stod(error.substr(begin.size()));  // a message may have been sent since
          failures.check(seconds > 7.9 && seconds <= 8, error);
          sum(transport, "auto", failures);
          check_machine(machine(transport));
        }) == "");
}

TEST_CASE("a clock that stands still, or leaps, ends no probe") {
  for (const double leap_seconds : {-ProbedTransport::tick, 1e6})
    CHECK(failures_on_probed({0, 1, 2}, {}, {}, [&](ProbedTransport& transport, Failures& failures) {
            transport.at_look([&](int look) {
              if (leap_seconds < 0 || look == 50) transport.set_clock(transport.clock() + leap_seconds);
            });
            sum(transport, "auto", failures);
            check_machine(machine(transport));
          }) == "");
}

TEST_CASE("a rank that does not come to a probe is named, and one that dies in it ends it") {
  CHECK(failures_on_probed({0, 1, 2}, slow, {}, [](ProbedTransport& transport, Failures& failures) {
          Reports reports;
          sum(transport, "ring", failures);
          set_stall_watch(transport, reports.watch(0.4));
          transport.at_look([&](int look) {
            if (look == ProbedTransport::look_at_messages && transport.rank() == 2) sleep_seconds(1);
          });
          sum(transport, "auto", failures);
          set_stall_watch(transport, {.limit_seconds = 0});
          const std::vector<Stall> stalls = reports.taken();
          failures.check(transport.rank() == 2 || !stalls.empty(), "nothing is reported");
          for (const Stall& stall : stalls)
            failures.check(stall.operation == "measuring the machine" && stall.rows == 0, stall.text());
        }) == "");
  CHECK_THROWS_WITH(failures_on_probed({0, 1, 2}, slow, {},
                                       [](ProbedTransport& transport, Failures& failures) {
                                         transport.at_look([&](int look) {
                                           if (look == ProbedTransport::look_at_messages && transport.rank() == 2)
                                             throw Error("this rank dies");
                                         });
                                         sum(transport, "auto", failures);
                                       }),
                    Catch::Contains("this rank dies"));
}

TEST_CASE("DSOP_MACHINE names a file, or the transport's machine") {
  const std::string path = "machine_of_environment.json";
  Machine of_file;
  of_file.latency_seconds = 3e-5;
  write_machine(of_file, path);
  const auto check = [&](const std::string& value, const Machine& expected) {
    const Environment environment("DSOP_MACHINE", value);
    CHECK(failures_on_probed({0, 1, 2}, slow, {}, [&](ProbedTransport& transport, Failures& failures) {
            sum(transport, "auto", failures);
            sum(transport, "ring-pipelined", failures);
            failures.check(machine(transport) == expected && transport.looks() == 0, value + " is not taken");
          }) == "");
  };
  check(path, of_file);
  check("default", default_threads_machine());
  const Environment probe("DSOP_MACHINE", "probe");
  CHECK(failures_on_probed({0, 1}, slow, {}, [&](ProbedTransport& transport, Failures& failures) {
          sum(transport, "auto", failures);
          failures.check(transport.looks() > 0, "probe does not measure");
        }) == "");
  std::remove(path.c_str());
}

TEST_CASE("a DSOP_MACHINE that can't be read is an error on all ranks, and may be mended") {
  const std::string path = "machine_cut_off.json";
  for (const std::string text : {"", "{\"latency_seconds\": 1e-5,", "{\"version\": 77}"}) {
    std::ofstream(path) << text;
    const Environment environment("DSOP_MACHINE", path);
    CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
            const std::string error = argument_error_of([&] { sum(transport, "auto", failures); });
            const std::string expected = "ranks 0-1: DSOP_MACHINE: machine file " + path + ": ";
            failures.check(error.starts_with(expected), error);
            std::vector<float> data(10, 1);
            allreduce<float>(transport, data, {.machine = Machine{}});
            failures.check(!argument_error_of([&] { sum(transport, "ring", failures); }).empty(), "it is forgotten");
          }) == "");
  }
  const Environment missing("DSOP_MACHINE", "no/such/machine.json");
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
          const std::string error = argument_error_of([&] { sum(transport, "auto", failures); });
          failures.check(error == "ranks 0-1: DSOP_MACHINE: machine file no/such/machine.json: can't be opened", error);
        }) == "");
  std::remove(path.c_str());
}

TEST_CASE("a plan warns of a machine that was measured elsewhere") {
  Machine machine;
  machine.measured_on = {8, 8, 4, "mpi"};
  const auto text = [&](int ranks, const std::vector<int>& nodes) {
    std::ostringstream out;
    const std::vector<std::size_t> pairs(static_cast<std::size_t>(ranks), 1);
    out << make_plan({.rows = 100, .columns = 100, .pairs = pairs, .group = {.nodes = nodes}}, machine);
    return out.str();
  };
  CHECK(text(8, {}).find("warning") == std::string::npos);
  CHECK(
      text(4, {}).find("warning: the machine was measured elsewhere, ranks: 4 instead of 8, nodes: 4 instead of 8\n") !=
      std::string::npos);
  const std::vector<int> two_nodes{0, 0, 0, 0, 4, 4, 4, 4};
  CHECK(why_not_valid(machine, 8, {}, 4).empty());
  CHECK(why_not_valid(machine, 8, two_nodes, 1) ==
        "the machine was measured elsewhere, nodes: 2 instead of 8, threads a rank: 1 instead of 4");
  CHECK(why_not_valid({}, 8, two_nodes, 1).empty());
  machine.measured_on.arithmetic_spread = 1.29;
  CHECK(why_not_valid(machine, 8, {}, 4).empty());
  machine.measured_on.arithmetic_spread = 1.3;
  CHECK(!why_not_valid(machine, 8, {}, 4).empty());
  machine.measured_on.arithmetic_spread = 1.625;
  CHECK(
      why_not_valid(machine, 8, {}, 4) ==
      "of the machine's rates of arithmetic or memory one was measured several times, up to 1.6x apart: probably other "
      "work ran on its cores, calibrate again");
  CHECK(why_not_valid(machine, 0, {}) == why_not_valid(machine, 8, {}, 4));
  machine.measured_on.arithmetic_spread = 1;
  machine.measured_on.hidden_share_spread = 0.47;
  machine.hidden_share = 0.16;
  CHECK(why_not_valid(machine, 8, {}, 4) ==
        "the machine's hidden_share, 0.16, was measured several times, up to 0.47 apart: calibrate again, on quiet "
        "cores");
  const Machine racks{.inner_levels = {{}, {.nodes = 4}}};
  CHECK(why_not_valid(racks, 8, {}).empty());
  CHECK(why_not_valid(racks, 8, std::vector<int>(8)).empty());
  CHECK(why_not_valid(racks, 8, {0, 0, 2, 2, 4, 4, 6, 6}) ==
        "inner_levels[1] joins 4 nodes, and there are 4: the network beyond is not used");
}

TEST_CASE("MPI's own allreduce is taken where it is measured, and allowed") {
  Machine machine;
  machine.measured_on.ranks = 4;
  machine.native_allreduce_seconds = {1e-9, 2e-9, 3e-9, 4e-9, 5e-9, 6e-9};
  Problem problem{.rows = 1000, .columns = 1000, .pairs = {600, 600, 600, 600}, .group = {.native = true}};
  const auto chosen = [&] { return make_plan(problem, machine).algorithm_name(); };
  CHECK(chosen() != "allreduce-mpi");
  problem.allow_native = true;
  CHECK(chosen() == "allreduce-mpi");
  CHECK(make_plan(problem, machine, "allreduce-mpi").cost().communication_seconds == Approx(5.97e-9).epsilon(0.01));
  problem.native_sums_vary = true;
  CHECK(chosen() != "allreduce-mpi");
  machine.winners = {{1000, 1000, 600, 4, DataType::f32, "allreduce-mpi"}};
  CHECK(chosen() != "allreduce-mpi");
  problem.native_sums_vary = false;
  problem.allow_native = false;
  CHECK(chosen() == "allreduce-mpi");  // the winner
  machine.winners.clear();
  problem.allow_native = true;
  machine.measured_on.ranks = 8;
  CHECK(chosen() != "allreduce-mpi");
  machine.measured_on.ranks = 4;
  machine.native_allreduce_seconds = {};
  CHECK(chosen() != "allreduce-mpi");
}
