#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include <dsop/counting.hpp>

#include "failures.hpp"
#include "patterns/all_to_all.hpp"
#include "patterns/blocks.hpp"
#include "patterns/bruck_allgather.hpp"
#include "patterns/hypercube.hpp"
#include "patterns/of_all_ranks.hpp"
#include "told_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

// The text of the TransportError that the ranks' bodies throw out of run_on_threads.
template <class Error, class Body>
std::string error_of_run(int P, Body body) {
  try {
    run_on_threads(P, body);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::vector<int> numbers(int from, std::size_t count) {
  std::vector<int> list(count);
  std::iota(list.begin(), list.end(), from);
  return list;
}

}  // namespace

TEST_CASE("messages arrive whole, in order, also when they are empty or to oneself") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const int r = transport.rank();
          for (const std::size_t count : {0UL, 1UL, 1000UL}) {
            std::vector<int> first = numbers(r, count);
            std::vector<int> second = numbers(-r, count);
            std::vector<int> from_left(count);
            std::vector<int> next_from_left(count);
            Request sends[] = {transport.isend(std::span(first), (r + 1) % 3),
                               transport.isend(std::span(second), (r + 1) % 3)};
            Request receives[] = {transport.irecv(std::span(from_left), (r + 2) % 3),
                                  transport.irecv(std::span(next_from_left), (r + 2) % 3)};
            transport.wait(receives[1]);
            transport.wait(receives[0]);
            for (Request& send : sends) transport.wait(send);
            failures.check(from_left == numbers((r + 2) % 3, count), "the first message is wrong");
            failures.check(next_from_left == numbers(-((r + 2) % 3), count), "the second message is wrong");

            std::vector<int> to_myself(count);
            transport.sendrecv(std::span(first), r, std::span(to_myself), r);
            failures.check(to_myself == first, "a message to oneself is wrong");
          }
        }) == "");
}

TEST_CASE("tags keep messages apart") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          int header = 1;
          int payload = 2;
          if (transport.rank() == 0) {
            Request first = transport.isend(std::span(&payload, 1), 1, Tag::payload);
            Request second = transport.isend(std::span(&header, 1), 1, Tag::agreement);
            transport.wait(second);
            transport.wait(first);
          } else {
            int received = 0;
            transport.recv(std::span(&received, 1), 0, Tag::agreement);
            failures.check(received == header, "the header is not the header");
            transport.recv(std::span(&received, 1), 0, Tag::payload);
            failures.check(received == payload, "the payload is not the payload");
          }
        }) == "");
}

TEST_CASE("a rank that throws ends those that wait for it, and its own exception comes out") {
  const auto body = [](Transport& transport) {
    if (transport.rank() == 2) throw std::runtime_error("rank two has had enough");
    int number = 0;
    transport.recv(std::span(&number, 1), (transport.rank() + 1) % 4);
  };
  CHECK(error_of_run<std::runtime_error>(4, body) == "rank two has had enough");
}

TEST_CASE("waiting for a rank that has ended is an error, not a hang") {
  const auto body = [](Transport& transport) {
    int number = 0;
    if (transport.rank() == 0) transport.recv(std::span(&number, 1), 1);
  };
  CHECK(error_of_run<TransportError>(2, body) == "rank 0 waits for rank 1, which has ended");
}

TEST_CASE("a message of another length than expected is an error") {
  const auto body = [](Transport& transport) {
    std::vector<char> memory(8);
    if (transport.rank() == 0)
      transport.send(std::span(memory).first(5), 1);
    else
      transport.recv(std::span(memory).first(8), 0);
  };
  CHECK(error_of_run<TransportError>(2, body) == "rank 0 sent 5 bytes to rank 1, which expected 8");
}

TEST_CASE("a receive is told how much has come, where it knows a bound alone") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          check_told_lengths(transport, {0, 1, 1000}, failures);
          CountingTransport counting(transport);
          check_told_lengths(counting, {5}, failures);
          failures.check(counting.payload() == Traffic{18, 6 * (5 + 2 + 9)}, "other messages are counted");
        }) == "");
  std::string error;
  run_on_threads(2, [&](Transport& transport) {
    const std::string text = error_of_too_long(transport, 9, 8);
    if (transport.rank() == 0) error = text;
  });
  CHECK(error == "rank 1 sent 9 bytes to rank 0, which expected at most 8");
}

TEST_CASE("a request that is given up is withdrawn") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          std::vector<int> given_up{7, 7};
          int message = 1;
          if (transport.rank() == 0) {
            { Request receive = transport.irecv(std::span(given_up), 1); }
            transport.send(std::span(&message, 1), 1);  // from here on, rank 1 may send
            transport.recv(std::span(&message, 1), 1);
            failures.check(message == 2 && given_up[0] == 7, "a withdrawn receive still took a message");
          } else {
            transport.recv(std::span(&message, 1), 0);
            ++message;
            transport.send(std::span(&message, 1), 0);
          }
        }) == "");
}

TEST_CASE("who asks for a message that can no longer come is told to wait, which throws") {
  bool told = false;
  const auto body = [&](Transport& transport) {
    if (transport.rank() == 1) throw Error("has had enough");
    int message = 0;
    Request receive = transport.irecv(std::span(&message, 1), 1);
    for (int tenths = 0; !told && tenths < 100; ++tenths) {
      told = transport.test(receive);
      if (!told) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    transport.wait(receive);
  };
  CHECK_THROWS_AS(run_on_threads(2, body), Error);
  CHECK(told);
}

TEST_CASE("a decorator hands on all that calls ask of a transport") {
  struct Decorated final : TransportOver {
    using TransportOver::TransportOver;
  };
  CHECK(failures_on_nodes({0, 0, 1}, [](Transport& transport, Failures& failures) {
          Decorated decorated(transport);
          failures.check(&decorated.calls() == &transport.calls(), "it has a state of its own");
          failures.check(decorated.node() == transport.node(), "it is on another node");
          decorated.come_to(7);
          patterns::on_any_rank(decorated, false);
          failures.check(decorated.ranks_behind(7, 1).empty() && decorated.ranks_behind(8, 1).size() == 3,
                         "it does not know how far ranks have come");
        }) == "");
}

TEST_CASE("numbers of ranks and threads that make no sense are refused") {
  const auto nothing = [](Transport&) {};
  CHECK_THROWS_WITH(run_on_threads(0, nothing), "ranks is 0, expected at least 1");
  CHECK_THROWS_WITH(run_on_threads(2, nothing, 0), "omp_threads is 0, expected at least 1");
}

TEST_CASE("blocks cover everything and differ by at most one") {
  for (const std::size_t total : {0UL, 1UL, 5UL, 10UL, 17UL, 1000UL})
    for (const int count : {1, 2, 3, 7, 16, 17}) {
      const patterns::Blocks blocks(total, count);
      CHECK(blocks.offset(0) == 0);
      CHECK(blocks.offset(count) == total);
      for (int b = 0; b < count; ++b) {
        CHECK(blocks.size(b) <= blocks.largest());
        CHECK(blocks.size(b) + 1 >= blocks.largest());
        CHECK(blocks.offset(b) + blocks.size(b) == blocks.offset(b + 1));
      }
    }
}

TEST_CASE("the hypercube has the largest power of two as corners, and the rest as extras") {
  for (int P = 1; P <= 17; ++P) {
    int extras = 0;
    for (int r = 0; r < P; ++r) {
      const patterns::Hypercube cube(r, P);
      CHECK(cube.corners <= P);
      CHECK(2 * cube.corners > P);
      CHECK(1 << cube.dimensions() == cube.corners);
      if (!cube.is_extra()) continue;
      ++extras;
      CHECK(patterns::Hypercube(cube.proxy(), P).has_extra());
      CHECK(patterns::Hypercube(cube.proxy(), P).extra() == r);
    }
    CHECK(extras == P - patterns::Hypercube(0, P).corners);
  }
}

TEST_CASE("Bruck's allgather brings every item to its place") {
  for (int P = 1; P <= 9; ++P)
    CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
            std::vector<int> items(static_cast<std::size_t>(transport.size()), -1);
            items[static_cast<std::size_t>(transport.rank())] = 10 + transport.rank();
            patterns::bruck_allgather<int>(transport, items, Tag::payload);
            failures.check(items == numbers(10, items.size()), "an item is missing");
          }) == "");
}

TEST_CASE("everybody has something for everybody, and what comes first is there before what comes last") {
  std::atomic<bool> first_has_come = false;
  const int P = GENERATE(2, 3, 5, 11, 20, 40);
  using enum patterns::Destinations;
  const patterns::Steps steps =
      GENERATE(patterns::Steps{}, patterns::Steps{.destinations = in_order}, patterns::Steps{.ahead = 1},
               patterns::Steps{.destinations = in_order, .ahead = 1});
  CAPTURE(P, steps.destinations == rotated, steps.ahead);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          const int r = transport.rank();
          const auto ranks = static_cast<std::size_t>(P);
          std::vector<int> sent = numbers(100 * r, ranks);
          std::vector<int> received(static_cast<std::size_t>(patterns::most_received_at_once(P)), -1);
          const auto of = [](std::vector<int>& all, int q) {
            return std::span(all).subspan(static_cast<std::size_t>(q) % all.size(), 1);
          };
          int come = 1;
          const auto slot = [&](int q) {
            const int s = steps.step_of(r, q, P);
            failures.check(s < come + patterns::most_received_at_once(P), "is further ahead than it says");
            return of(received, s);
          };
          // The last rank sends nothing until rank 0 has what rank 1 sent.
          for (int tenths = 0; P > 2 && r == P - 1 && !first_has_come && tenths < 100; ++tenths)
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          failures.check(P == 2 || r < P - 1 || first_has_come, "waits for all before it hands on the first");
          patterns::staggered_all_to_all(
              transport, [&](int q) { return of(sent, q); }, slot,
              [&](int first, int last) {
                failures.check(first == come && first < last && last <= P, "steps are left out");
                failures.check(last - first <= steps.ahead, "more have come than were under way");
                for (int s = first; s < last; ++s)
                  failures.check(of(received, s)[0] == 100 * steps.source(r, s, P) + r, "is not there");
                come = last;
                if (r == 0) first_has_come = true;
              },
              patterns::EmptyMessages::travel, steps);
          failures.check(come == P, "ends early");
        }) == "");
}
