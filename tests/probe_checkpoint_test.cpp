// What a run that goes on from a checkpoint plans for, and shows, where a probe has found the earlier run's machine.
#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/synchronizer.hpp>

#include "environment.hpp"
#include "probed_transport.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("policies that name an algorithm plan as before where a run goes on from a checkpoint") {
  std::vector<std::string> saved(4);
  std::vector<std::string> algorithms(4);
  const auto run = [&](const Link& link, bool loads) {
    return failures_on_probed({0, 1, 2, 3}, link, {}, [&](ProbedTransport& transport, Failures& failures) {
      const auto rank = static_cast<std::size_t>(transport.rank());
      Synchronizer<float> synchronizer(transport);
      synchronizer.add("chosen", {1, 3000}, "dense");
      synchronizer.add("named", {1, 40000}, "dense:ring-pipelined");  // 4 segments; 2 by what is probed
      synchronizer.add("sparse", {1, 100000}, "sparse:dsar-early-switch");
      if (loads) {
        std::istringstream in(saved[rank]);
        synchronizer.load(in);
      }
      std::vector<float> chosen(3000, 1);
      std::vector<float> named(40000, 1);
      std::vector<float> sparse(100000, 1);
      synchronizer.begin();
      synchronizer.give("chosen", {chosen.data(), 1, 3000});
      synchronizer.give("named", {named.data(), 1, 40000});
      synchronizer.give("sparse", {sparse.data(), 1, 100000});
      synchronizer.finish();
      const std::string text = synchronizer.describe();
      std::string used;
      for (const char* const name : {"chosen", "named", "sparse"}) {
        const std::string algorithm = synchronizer.last_step(name).algorithm;
        used += algorithm + " ";
        failures.check(text.find("  " + algorithm + "  ") != std::string::npos, text + "has no " + algorithm);
      }
      std::ostringstream out;
      synchronizer.save(out);
      if (loads) failures.check(used == algorithms[rank], used + "instead of " + algorithms[rank]);
      saved[rank] = out.str();
      algorithms[rank] = used;
    });
  };
  CHECK(run(slow, false) == "");
  const Link fast{1.0 / (1 << 20), 1.0 / (1UL << 34)};
  CHECK(run(fast, true) == "");
  const std::string file = "probe_checkpoint_test.json";
  write_machine(Machine{}, file);
  for (const std::string& told : {std::string("default"), file}) {
    const Environment machine("DSOP_MACHINE", told);
    CHECK(run(fast, true) == "");
  }
  std::remove(file.c_str());
}

TEST_CASE("a run that goes on from a checkpoint plans for the machine of the run before") {
  std::vector<std::string> saved(2);
  std::vector<std::string> algorithms(2);
  const auto step = [](Synchronizer<float>& synchronizer) {
    const std::vector<float> ones(300, 1);
    std::vector<float> gradient(90000);
    std::vector<float> bias(3000, 1);
    synchronizer.begin();
    synchronizer.give("weight", Factors<float>{{ones.data(), 1, 300}, {ones.data(), 1, 300}},
                      {gradient.data(), 300, 300});
    synchronizer.give("bias", {bias.data(), 1, 3000});
    synchronizer.finish();
    return synchronizer.last_step("weight").algorithm + " " + synchronizer.last_step("bias").algorithm;
  };
  const auto add = [](Synchronizer<float>& synchronizer) {
    synchronizer.add("weight", {300, 300, 200}, "dsop");
    synchronizer.add("bias", {1, 3000}, "dense");
  };
  CHECK(failures_on_probed({0, 1}, slow, {}, [&](ProbedTransport& transport, Failures&) {
          Synchronizer<float> synchronizer(transport);
          add(synchronizer);
          const auto rank = static_cast<std::size_t>(transport.rank());
          algorithms[rank] = step(synchronizer);
          std::ostringstream out;
          synchronizer.save(out);
          saved[rank] = out.str();
        }) == "");
  const Link fast{1.0 / (1 << 20), 1.0 / (1UL << 34)};
  for (const bool is_given : {false, true})
    CHECK(failures_on_probed({0, 1}, fast, {}, [&](ProbedTransport& transport, Failures& failures) {
            const auto rank = static_cast<std::size_t>(transport.rank());
            SynchronizerOptions options;
            if (is_given) options.machine = Machine{};
            Synchronizer<float> synchronizer(transport, options);
            add(synchronizer);
            std::istringstream in(saved[rank]);
            synchronizer.load(in);
            const std::string now = step(synchronizer);
            std::ostringstream out;
            synchronizer.save(out);
            failures.check(is_given || now == algorithms[rank], now + " instead of " + algorithms[rank]);
            failures.check((out.str().size() == saved[rank].size()) == !is_given, "another machine is saved");
          }) == "");
}

TEST_CASE("all synchronizers of a communicator go on by the machine of their checkpoints") {
  std::array<std::array<std::string, 2>, 4> saved;       // by rank and synchronizer
  std::array<std::array<std::string, 2>, 4> algorithms;  // as well
  const auto run = [&](const Link& link, bool loads) {
    return failures_on_probed({0, 1, 2, 3}, link, {}, [&](ProbedTransport& transport, Failures& failures) {
      const auto rank = static_cast<std::size_t>(transport.rank());
      std::array<Synchronizer<float>, 2> synchronizers{Synchronizer<float>(transport), Synchronizer<float>(transport)};
      for (Synchronizer<float>& synchronizer : synchronizers) synchronizer.add("w", {60, 60, 50}, "dsop");
      failures.check(!loads || synchronizers[0].describe().find("  " + algorithms[rank][0] + "  ") == std::string::npos,
                     "both machines choose alike, so that the test shows nothing");
      for (std::size_t s = 0; s < 2 && loads; ++s) {
        std::istringstream in(saved[rank][s]);
        synchronizers[s].load(in);
      }
      for (std::size_t s = 0; s < 2; ++s) {
        const std::vector<float> ones(60, 1);
        std::vector<float> gradient(3600);
        synchronizers[s].begin();
        synchronizers[s].give("w", Factors<float>{{ones.data(), 1, 60}, {ones.data(), 1, 60}},
                              {gradient.data(), 60, 60});
        synchronizers[s].finish();
        const std::string used = synchronizers[s].last_step("w").algorithm;
        failures.check(!loads || used == algorithms[rank][s], used + " instead of " + algorithms[rank][s]);
        algorithms[rank][s] = used;
        std::ostringstream out;
        synchronizers[s].save(out);
        saved[rank][s] = out.str();
      }
    });
  };
  CHECK(run(slow, false) == "");
  CHECK(run(Link{1.0 / (1 << 20), 1.0 / (1UL << 34)}, true) == "");
}
