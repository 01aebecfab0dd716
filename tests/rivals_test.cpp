// The rivals of dsop-bench over ranks as threads.
#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

#include <dsop/algorithms.hpp>
#include <dsop/counting.hpp>

#include "failures.hpp"
#include "rival_cases.hpp"
#include "time_in_transport.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("every rival is exact on threads") {
  const int P = GENERATE(1, 2, 3, 4, 5);
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          sweep_rivals(transport, [&](const std::string& text) { failures.add(text); });
        }) == "");
}

TEST_CASE("rivals have names of their own") {
  for (const bench::Rival& rival : bench::rivals()) {
    CHECK(bench::rivals().find(rival.name) == &rival);
    for (const std::string& own : algorithm_names()) CHECK(rival.name != own);
  }
}

TEST_CASE("allgather-per-pair gathers twice, by neighbors or round a ring, and sends what dsop's allgather sends") {
  const auto check = [](int P, std::size_t messages) {
    INFO("P = " << P);
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            CountingTransport counted(transport);
            const std::string name = "allgather-per-pair";
            failures.check(used_for(counted, *bench::rivals().find(name), 7) == name, "used another");
            failures.check(counted.payload().messages == 2 * messages, "sent another number of messages");
            failures.check(counted.payload().bytes == static_cast<std::size_t>(P - 1) * (1 + 7) * sizeof(float),
                           "sent another volume");
          }) == "");
  };
  check(3, 2);
  check(4, 2);
  check(8, 4);
}

TEST_CASE("a rival that can't run says why") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          const std::string error = argument_error_of(
              [&] { bench::check_usable(*bench::rivals().find("openmpi-allreduce-ring"), transport); });
          failures.check(error.starts_with("algorithm openmpi-allreduce-ring can't be used: it "), error);
        }) == "");
}

TEST_CASE("time in messages is that of who waits, not that of who is awaited") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          bench::TimeInTransport timed(transport);
          std::vector<char> word(1);
          bench::barrier(transport);
          if (transport.rank() == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            failures.check(timed.seconds() == 0, "work counts as time in messages");
            timed.send(std::span(word), 0);
            failures.check(timed.seconds() > 0, "a send takes no time");
          } else {
            timed.recv(std::span(word), 1);
            failures.check(timed.seconds() > 0.02, "waiting takes " + std::to_string(timed.seconds()) + " s");
          }
          bench::barrier(transport);
        }) == "");
}
