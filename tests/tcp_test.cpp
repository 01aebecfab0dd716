// Over TCP, each rank a thread with connections of its own: the same sweep as on threads, and what only TCP has.
#include <catch2/catch.hpp>

#include <dsop/sparse_allreduce.hpp>
#include <dsop/synchronizer.hpp>
#include <dsop/threads.hpp>

#include <atomic>
#include <cstring>
#include <latch>
#include <numeric>
#include <random>
#include <sstream>

#include "collectives_cases.hpp"
#include "outer_product_sweep.hpp"
#include "sparse_allreduce_cases.hpp"
#include "stall_cases.hpp"
#include "tcp_ranks.hpp"
#include "told_cases.hpp"
#include "topk_cases.hpp"
#include "turns.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

/// The results, one after another, of calls that the sweeps do not make.
std::vector<float> sums_of_objects(Transport& transport) {
  constexpr std::size_t n = 7, m = 5;
  const auto r = static_cast<std::size_t>(transport.rank());
  std::vector<float> all, a((r + 1) * n), b((r + 1) * m), gradient(n * m);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>((3 * r + i) % 5) - 2;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>((r + 2 * i) % 7) - 3;
  const Factors<float> factors{{a.data(), r + 1, n}, {b.data(), r + 1, m}};
  const MatrixView<float> target(gradient.data(), n, m);
  const auto keep = [&](std::span<const float> values) { all.insert(all.end(), values.begin(), values.end()); };

  OuterProduct<float> layer(transport, {n, m, 8});
  layer.start(factors, target).wait();
  keep(gradient);
  const auto bounds = layer.plan().row_bounds;
  std::vector<float> own((bounds[r + 1] - bounds[r]) * m);
  layer.run_sharded(factors, {own.data(), bounds[r + 1] - bounds[r], m});
  keep(own);
  const std::vector<std::size_t> offsets{0, 1};
  const std::vector<std::uint32_t> columns{static_cast<std::uint32_t>(r % n)};
  const std::vector<float> ones{1};
  const auto rows = layer.run_rows({SparseMatrixView<float>{1, n, offsets, columns, ones}, {b.data(), 1, m}});
  keep({rows.elements.get(), rows.indices.size() * m});
  for (const SparseVectorView<float>& x : {SparseVectorView<float>{n, columns, ones}, {m, {}, std::span(b).first(m)}})
    keep(sparse_allreduce<float>(transport, x).sum.values);

  std::stringstream saved;
  for (const bool resumes : {false, true}) {
    Synchronizer<float> model(transport);
    model.add("factors", {n, m, 8}, "dsop");
    model.add("chosen", {n, m}, "ok-topk:0.2");
    model.add("bias", {1, m}, "dense");
    if (resumes) model.load(saved);
    std::vector<float> chosen(gradient), bias(b.begin(), b.begin() + m);
    model.begin({.scale = 0.5F});
    model.give("factors", factors, target);
    model.give("chosen", MatrixView<float>(chosen.data(), n, m));
    model.give("bias", MatrixView<float>(bias.data(), 1, m));
    model.finish();
    for (const auto& values : {gradient, chosen, bias}) keep(values);
    if (!resumes) model.save(saved);
  }
  return all;
}

}  // namespace

TEST_CASE("every outer-product algorithm is exact over TCP") {
  const int P = GENERATE(1, 2, 3, 5);
  if (P > 3 && !all_are_asked_for()) return;
  const auto cases = sweep_cases(P);
  CHECK(failures_over_tcp(P, [&](Transport& transport, Failures& failures) {
          const auto fail = [&](const std::string& text) { failures.add(text); };
          sweep_outer_products(transport, cases, fail);
          sweep_bits(transport, fail);
        }) == "");
}

TEST_CASE("every sparse, selecting and dense allreduce is exact over TCP") {
  const int P = GENERATE(1, 3, 4);
  if (P > 3 && !all_are_asked_for()) return;
  const auto sums = sparse_case_sums<float>(P);
  CHECK(failures_over_tcp(P, [&](Transport& transport, Failures& failures) {
          check_sparse_sums(transport, sums, failures);
          check_topk<float>(transport, failures);
          check_collectives<float>(transport, failures);
          check_collectives<double>(transport, failures);
        }) == "");
}

TEST_CASE("the machine is measured over TCP") {
  REQUIRE(setenv("DSOP_MACHINE", "probe", 1) == 0);
  CHECK(failures_over_tcp(3, [](Transport& transport, Failures& failures) {
          const Machine machine = dsop::machine(transport);
          if (!machine.source.starts_with("probe of 3 ranks")) failures.add(machine.source);
          check_machine(machine);
        }) == "");
  REQUIRE(setenv("DSOP_MACHINE", "default", 1) == 0);
}

TEST_CASE("a wait that fails closes the connections over TCP, whatever it waits for") {
  for (const Tag tag : {Tag::payload, Tag::agreement, Tag::probe}) {
    CHECK(failures_over_tcp(2, [&](Transport& transport, Failures& failures) {
            if (transport.rank() == 0) set_stall_watch(transport, {.limit_seconds = 0.1, .throws = true});
            int number = 0;
            Request request = transport.irecv(std::span(&number, 1), 1 - transport.rank(), tag);
            bool throws = false;
            try {
              transport.wait(request);
            } catch (const TransportError&) {
              throws = true;
            }
            failures.check(throws, "goes on");
          }) == "");
  }
}

TEST_CASE("a receive over TCP is told how much has come, where it knows a bound alone") {
  CHECK(failures_over_tcp(3, [](Transport& transport, Failures& failures) {
          check_told_lengths(transport, {0, 1, 65536, 65537, 150'000}, failures);
        }) == "");
  for (const std::size_t room_bytes : {8UL, 70'000UL}) {
    std::string error;
    MemoryStore memory;
    errors_on_threads(2, [&](int rank) {
      const auto transport = connect_over_tcp(memory.store(), {.rank = rank, .ranks = 2});
      const std::string text = error_of_too_long(*transport, 90'000, room_bytes);
      if (rank == 0) error = text;
    });
    CHECK(error ==
          "receiving at most " + std::to_string(room_bytes) + " bytes on rank 0 from rank 1: 90000 bytes came");
  }
}

TEST_CASE("messages over TCP keep their order for each tag, also when they are empty or to oneself") {
  CHECK(failures_over_tcp(3, [](Transport& transport, Failures& failures) {
          const int r = transport.rank();
          const int right = (r + 1) % 3;
          const int left = (r + 2) % 3;
          for (const std::size_t count : {0UL, 1UL, 1000UL, 3000000UL}) {
            std::vector<int> sent[2], received[3];
            for (int i : {0, 1}) {
              sent[i].resize(count);
              std::iota(sent[i].begin(), sent[i].end(), 10 * r + i);
            }
            for (std::vector<int>& one : received) one.resize(count);
            Request sends[] = {transport.isend(std::span(sent[0]), right), transport.isend(std::span(sent[1]), right),
                               transport.isend(std::span(sent[0]), right, Tag::agreement)};
            Request third = transport.irecv(std::span(received[2]), left, Tag::agreement);
            transport.wait(third);
            Request first = transport.irecv(std::span(received[0]), left);
            Request second = transport.irecv(std::span(received[1]), left);
            transport.wait(second);
            transport.wait(first);
            for (Request& send : sends) transport.wait(send);
            for (std::size_t i = 0; i < 3; ++i)
              failures.check(count == 0 || received[i][0] == 10 * left + static_cast<int>(i % 2), "is out of order");
            failures.check(count == 0 || received[1].back() == 10 * left + 1 + static_cast<int>(count) - 1,
                           "is not whole");
            transport.sendrecv(std::span(sent[0]), r, std::span(received[0]), r);
            failures.check(received[0] == sent[0], "a message to oneself is wrong");
          }
        }) == "");
}

TEST_CASE("calls that were started go on by themselves over TCP") {
  CHECK(failures_over_tcp(3, [](Transport& transport, Failures& failures) {
          Job<float> job(transport, 300, 200, 16, "auto");
          for (int i = 0; i < 5; ++i) job.start(static_cast<std::uint64_t>(i)).wait();
          failures.check(job.exact(), "the result is wrong");
        }) == "");
}

TEST_CASE("sharded, started and sparse sums and a synchronizer that is resumed are over TCP as on threads") {
  const int P = GENERATE(1, 2, 3, 5);
  std::vector<std::vector<float>> on_threads(static_cast<std::size_t>(P));
  run_on_threads(P, [&](Transport& transport) {
    on_threads[static_cast<std::size_t>(transport.rank())] = sums_of_objects(transport);
  });
  CHECK(failures_over_tcp(P, [&](Transport& transport, Failures& failures) {
          failures.check(sums_of_objects(transport) == on_threads[static_cast<std::size_t>(transport.rank())],
                         "the results differ");
        }) == "");
}

TEST_CASE("ranks with one host name share a node") {
  CHECK(failures_over_tcp(3, [](Transport& transport, Failures& failures) {
          failures.check(transport.node() == 0, "they do not");
        }) == "");
}

TEST_CASE("ranks of two hosts are on two nodes, by which they sum") {
  const std::vector<std::size_t> hosts{0, 1, 0, 1, 1};
  MemoryStore memory;
  Failures failures;
  const auto errors = errors_on_threads(5, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const auto transport =
        connect_over_tcp(on_hosts(memory.store(), hosts, r), {.rank = rank, .ranks = 5, .interface = "lo"});
    failures.check(transport->node() == static_cast<int>(hosts[r]), "rank " + std::to_string(rank) + " is elsewhere");
    const std::string wrong = wrong_elements<float>(*transport, "hierarchical", {40, 30, {2, 1, 0, 3, 2}, 2, false, 0});
    failures.check(wrong.empty(), wrong);
  });
  for (const std::string& error : errors) failures.check(error.empty(), error);
  CHECK(failures.text() == "");
}

TEST_CASE("ranks that do not come are reported over TCP, and may come later") {
  CHECK(failures_over_tcp(5, [](Transport& transport, Failures& failures) {
          check_late_ranks(transport, {1, 3, 4}, false, failures);
          check_late_ranks(transport, {0}, false, failures);
          check_late_ranks(transport, {2}, true, failures);
        }) == "");
}

TEST_CASE("a watch that throws ends the call over TCP, on those that have come by itself or by others' end") {
  std::latch thrown(3);
  std::atomic<int> by_itself = 0;
  CHECK(failures_over_tcp(4, [&](Transport& transport, Failures& failures) {
          Reports reports;
          Job<float> job(transport, 5, 6, 1, "auto");
          job.run(1);
          set_stall_watch(transport, reports.watch(0.2, true));
          if (transport.rank() == 3) return thrown.wait();  // it never comes
          std::string error;
          try {
            job.run(2);
          } catch (const TransportError& failure) {
            error = failure.what();
          }
          thrown.count_down();
          const std::vector<Stall> stalls = reports.taken();
          const bool has_stalled = !stalls.empty() && stalls[0].text() == error;
          if (has_stalled) ++by_itself;
          failures.check(has_stalled || error.find(" failed: ") != std::string::npos, "threw: " + error);
          for (const Stall& stall : stalls) {
            const std::vector<int>& missing = stall.missing_ranks;
            failures.check(std::find(missing.begin(), missing.end(), 3) != missing.end(), stall.text());
            failures.check(stall.call == 2 && stall.rows == 5 && stall.columns == 6, stall.text());
          }
        }) == "");
  CHECK(by_itself > 0);
}

TEST_CASE("a rank that ends is named, and those that wait for others hear of it") {
  MemoryStore memory;
  const auto errors = errors_on_threads(4, [&](int rank) {
    const auto transport = connect_over_tcp(memory.store(), {.rank = rank, .ranks = 4});
    if (rank == 0) return;
    std::vector<float> data(100);
    transport->recv(std::span(data), rank - 1);
  });
  INFO(errors[1] << '\n' << errors[2] << '\n' << errors[3]);
  CHECK(errors[0] == "");
  CHECK(errors[1].starts_with("receiving 400 bytes on rank 1 from rank 0 failed: "));
  for (const int rank : {2, 3}) {
    const std::string text = errors[static_cast<std::size_t>(rank)];
    CHECK(text.starts_with("receiving 400 bytes on rank " + std::to_string(rank) + " from rank " +
                           std::to_string(rank - 1) + " failed: "));
    CHECK(text.find("; closed connections: ranks 0-" + std::to_string(rank - 1)) != std::string::npos);
  }
}

TEST_CASE("a rank that ends within a message is named by its receiver and its sender") {
  MemoryStore memory;
  const auto errors = errors_on_threads(3, [&](int rank) {
    const auto transport = connect_over_tcp(memory.store(), {.rank = rank, .ranks = 3});
    std::vector<char> data(std::size_t{1} << 28);
    if (rank == 1) {
      const Request to_2 = transport->isend(std::span(data), 2);
      const Request from_0 = transport->irecv(std::span(data), 0);
      throw Error("rank 1 has had enough");
    }
    if (rank == 2) transport->recv(std::span(data), 1);
    if (rank == 0) transport->send(std::span(data), 1);
  });
  CHECK(errors[1] == "rank 1 has had enough");
  CHECK(errors[0].starts_with("sending 268435456 bytes on rank 0 to rank 1 failed: "));
  CHECK(errors[2].starts_with("receiving 268435456 bytes on rank 2 from rank 1 failed: "));
}

TEST_CASE("lengths that differ are an error on both ends") {
  constexpr std::size_t lengths[][2] = {{5, 8}, {8, 5}, {0, 100000}, {100000, 0}, {100000, 100001}, {100001, 100000}};
  for (const auto& [sent_bytes, expected_bytes] : lengths)
    for (const bool receiver_first : {false, true}) {
      CAPTURE(sent_bytes, expected_bytes, receiver_first);
      MemoryStore memory;
      const auto errors = errors_on_threads(2, [&, sent = sent_bytes, expected = expected_bytes](int rank) {
        const auto transport = connect_over_tcp(memory.store(), {.rank = rank, .ranks = 2});
        std::vector<char> data(rank == 0 ? sent : expected);
        char ready = 0;
        if ((rank == 0) == receiver_first) transport->recv(std::span(&ready, 1), 1 - rank, Tag::agreement);
        if (rank == 0) {
          Request send = transport->isend(std::span(data), 1);
          if (!receiver_first) transport->send(std::span(&ready, 1), 1, Tag::agreement);
          transport->wait(send);
          transport->recv(std::span(data), 1);  // a short message has gone: the receiver closes the connection
        } else {
          Request receive = transport->irecv(std::span(data), 0);
          if (receiver_first) transport->send(std::span(&ready, 1), 0, Tag::agreement);
          transport->wait(receive);
        }
      });
      CHECK(errors[1] == "receiving " + std::to_string(expected_bytes) +
                             " bytes on rank 1 from rank 0: " + std::to_string(sent_bytes) + " bytes came");
      const bool is_told = sent_bytes > 65536;
      if (is_told)
        CHECK(errors[0] == "sending " + std::to_string(sent_bytes) +
                               " bytes on rank 0 to rank 1: " + std::to_string(expected_bytes) + " were expected");
      else
        CHECK(errors[0] == "receiving " + std::to_string(sent_bytes) +
                               " bytes on rank 0 from rank 1 failed: the connection is closed");
    }
}

TEST_CASE("a rank that ends early takes nothing away from those that go on") {
  MemoryStore memory;
  const auto errors = errors_on_threads(3, [&](int rank) {
    const auto transport = connect_over_tcp(memory.store(), {.rank = rank, .ranks = 3});
    std::vector<char> data(std::size_t{1} << 24, static_cast<char>(rank));
    if (rank == 0) return transport->send(std::span(data), 1);
    if (rank == 1) {
      transport->recv(std::span(data), 0);
      if (data.front() != 0 || data.back() != 0) throw Error("the message is wrong");
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      transport->send(std::span(data), 2);
    } else {
      transport->recv(std::span(data), 1);
    }
  });
  CHECK(errors == std::vector<std::string>(3));
}

TEST_CASE("a send that is given up ends the communicator on all ranks") {
  MemoryStore memory;
  const auto errors = errors_on_threads(3, [&](int rank) {
    const auto transport = connect_over_tcp(memory.store(), {.rank = rank, .ranks = 3});
    std::vector<char> data(100000);
    if (rank == 0) {
      const Request given_up = transport->isend(std::span(data), 1);
    }
    transport->recv(std::span(data), (rank + 1) % 3);
  });
  for (const std::string& error : errors) CHECK(error.find(" failed: ") != std::string::npos);
}

TEST_CASE("a receive that is given up takes its message, and leaves its memory alone") {
  const std::size_t count = GENERATE(1UL, 1000UL, 1000000UL);
  MemoryStore memory;
  CHECK(errors_on_threads(2, [&](int rank) {
          const auto transport = connect_over_tcp(memory.store(), {.rank = rank, .ranks = 2});
          std::vector<int> data(count, rank);
          char ready = 0;
          if (rank == 0) {
            transport->recv(std::span(&ready, 1), 1);
            transport->send(std::span(data), 1);
            std::fill(data.begin(), data.end(), 7);
            transport->send(std::span(data), 1);
            return;
          }
          { const Request given_up = transport->irecv(std::span(data), 0); }
          transport->send(std::span(&ready, 1), 0);
          std::vector<int> next(count);
          transport->recv(std::span(next), 0);
          if (next != std::vector<int>(count, 7)) throw Error("it took another message");
          if (data != std::vector<int>(count, 1)) throw Error("its memory has changed");
        }) == std::vector<std::string>(2));
}

TEST_CASE("long messages travel both ways at once, with several tags, whoever is asked first") {
  CHECK(failures_over_tcp(4, [](Transport& transport, Failures& failures) {
          constexpr std::size_t count = 3 << 18;
          constexpr Tag used[] = {Tag::payload, Tag::agreement, Tag::probe};
          const int r = transport.rank();
          const int P = transport.size();
          std::vector<std::vector<int>> sent, received;
          std::vector<Request> requests;
          for (int peer = 0; peer < P; ++peer)
            for (const Tag tag : used) {
              sent.emplace_back(count, 100 * r + 10 * peer + static_cast<int>(tag));
              received.emplace_back(count);
              const auto send = [&] { requests.push_back(transport.isend(std::span(sent.back()), peer, tag)); };
              if (r % 2 == 0) send();
              requests.push_back(transport.irecv(std::span(received.back()), peer, tag));
              if (r % 2 != 0) send();
            }
          while (!requests.empty()) {  // the last first
            transport.wait(requests.back());
            requests.pop_back();
          }
          std::size_t i = 0;
          for (int peer = 0; peer < P; ++peer)
            for (const Tag tag : used)
              failures.check(received[i++] == std::vector<int>(count, 100 * peer + 10 * r + static_cast<int>(tag)),
                             "a message is wrong");
        }) == "");
}

TEST_CASE("two hundred random sums over TCP have the bits of those on threads") {
  constexpr int P_of[] = {2, 3, 4, 5};
  for (const int P : P_of) {
    const auto gradients = [P](Transport& transport) {
      std::vector<float> all;
      const std::vector<std::string> algorithms = usable_algorithms(transport);
      std::mt19937 random(static_cast<unsigned>(P));  // the same on all ranks
      for (int i = 0; i < 50; ++i) {
        const std::size_t n = 1 + random() % 120, m = 1 + random() % 90, most_pairs = 1 + random() % 40;
        const std::string& algorithm = algorithms[random() % algorithms.size()];
        const auto seed = static_cast<unsigned>(random());
        std::mt19937 own(seed + static_cast<unsigned>(transport.rank()));
        const std::size_t pairs = own() % (most_pairs + 1);
        std::vector<float> a(pairs * n), b(pairs * m), gradient(n * m);
        for (float& x : a) x = static_cast<float>(own()) * 0x1p-32F - 0.5F;
        for (float& x : b) x = static_cast<float>(own()) * 0x1p-32F - 0.5F;
        OuterProduct<float> layer(transport, {n, m, most_pairs}, {.algorithm = algorithm});
        layer.run({{a.data(), pairs, n}, {b.data(), pairs, m}}, MatrixView<float>(gradient.data(), n, m));
        all.insert(all.end(), gradient.begin(), gradient.end());
      }
      return all;
    };
    std::vector<std::vector<float>> on_threads(static_cast<std::size_t>(P));
    const auto keep = [&](Transport& transport) {
      on_threads[static_cast<std::size_t>(transport.rank())] = gradients(transport);
    };
    run_on_threads(P, keep, 1, std::vector<int>(on_threads.size()));
    CHECK(failures_over_tcp(P, [&](Transport& transport, Failures& failures) {
            const std::vector<float>& expected = on_threads[static_cast<std::size_t>(transport.rank())];
            const std::vector<float> found = gradients(transport);
            failures.check(found.size() == expected.size() &&
                               std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0,
                           "the bits differ");
          }) == "");
  }
}
