// Ranks over TCP as processes: forked children, and hosts with other networks.
#include <catch2/catch.hpp>

#include <net/if.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <dsop/dsop.hpp>

#include "tcp_ranks.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

class Folder {
 public:
  Folder() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
  Folder(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path store() const { return std::filesystem::path(path_) / "store"; }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "dsop-tcp-XXXXXX";
};

/// A process that ends with what body returns, 100 where it throws, and SIGALRM where it hangs.
pid_t start(const std::function<int()>& body) {
  const pid_t process = fork();
  if (process != 0) return process;
  alarm(120);
  kernels::set_thread_count(1);  // OpenMP's other threads were not forked
  int status = 100;
  try {
    status = body();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  _exit(status);
}

/// Its exit status, or minus its signal.
int status_of(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) return 1000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::unique_ptr<Transport> connected(const Folder& folder, int rank, int ranks) {
  return connect_over_tcp(file_store(folder.store()), {.rank = rank, .ranks = ranks});
}

void pass_on(Transport& transport, std::size_t bytes) {
  const int P = transport.size();
  std::vector<char> out(bytes, static_cast<char>(transport.rank())), in(bytes);
  transport.sendrecv(std::span(out), (transport.rank() + 1) % P, std::span(in), (transport.rank() + P - 1) % P);
  if (in != std::vector<char>(bytes, static_cast<char>((transport.rank() + P - 1) % P))) throw Error("it is wrong");
}

void start_a_call(Transport& transport) {
  const std::vector<float> a(6, 1), b(4, 1);
  std::vector<float> gradient(24);
  OuterProduct<float> layer(transport, {6, 4, 1});
  layer.start({{a.data(), 1, 6}, {b.data(), 1, 4}}, MatrixView<float>(gradient.data(), 6, 4)).wait();
}

}  // namespace

TEST_CASE("a forked child has no part in the connections, and its end takes nothing from them") {
  const bool has_thread = GENERATE(false, true);
  CAPTURE(has_thread);
  const Folder folder;
  pid_t ranks[2];
  for (const int rank : {0, 1})
    ranks[rank] = start([&] {
      std::unique_ptr<Transport> transport = connected(folder, rank, 2);
      if (has_thread) start_a_call(*transport);
      char byte = 0;
      Request under_way = transport->irecv(std::span(&byte, 1), 1 - rank, Tag::probe);
      const pid_t calls = start([&] {
        try {
          transport->send(std::span(&byte, 1), 1 - rank);
        } catch (const TransportError& error) {
          const bool tells = std::string(error.what()).starts_with("this process was forked from rank");
          return tells ? 3 : 4;
        }
        return 5;
      });
      const pid_t ends = start([&] {
        { const Request given_up = std::move(under_way); }
        transport.reset();
        return 6;
      });
      const pid_t starts = start([&] {
        if (!has_thread) return 7;
        try {
          start_a_call(*transport);
        } catch (const TransportError& error) {
          return std::string(error.what()).starts_with("this process was forked from") ? 7 : 8;
        }
        return 9;
      });
      const pid_t killed = start([] {
        for (;;) pause();
        return 0;
      });
      kill(killed, SIGKILL);
      if (status_of(calls) != 3 || status_of(ends) != 6 || status_of(starts) != 7 || status_of(killed) != -SIGKILL)
        return 1;
      transport->send(std::span(&byte, 1), 1 - rank, Tag::probe);
      transport->wait(under_way);
      for (const std::size_t bytes : {1UL, 1000000UL}) pass_on(*transport, bytes);
      if (has_thread) start_a_call(*transport);
      return 0;
    });
  CHECK(status_of(ranks[0]) == 0);
  CHECK(status_of(ranks[1]) == 0);
}

TEST_CASE("a rank that is killed is missed at once, though its child lives") {
  const Folder folder;
  int pipes[2];
  REQUIRE(pipe(pipes) == 0);
  const pid_t killed = start([&] {
    const auto transport = connected(folder, 0, 2);
    const pid_t child = start([] {
      for (;;) pause();
      return 0;
    });
    if (write(pipes[1], &child, sizeof child) != sizeof child) return 1;
    for (;;) pause();
  });
  const pid_t misses = start([&] {
    const auto transport = connected(folder, 1, 2);
    char byte = 0;
    try {
      transport->recv(std::span(&byte, 1), 0);
    } catch (const TransportError&) {
      return 3;
    }
    return 4;
  });
  pid_t child = 0;
  REQUIRE(read(pipes[0], &child, sizeof child) == sizeof child);
  kill(killed, SIGKILL);
  CHECK(status_of(killed) == -SIGKILL);
  CHECK(status_of(misses) == 3);
  CHECK(kill(child, SIGKILL) == 0);  // it lives
  for (const int end : pipes) close(end);
}

TEST_CASE("what was sent arrives, though its rank ends at once") {
  const Folder folder;
  const pid_t sends = start([&] {
    const auto transport = connected(folder, 0, 2);
    for (char byte = 0; byte < 100; ++byte) transport->send(std::span(&byte, 1), 1);
    std::vector<char> data(50000, 7);
    for (int i = 0; i < 20; ++i) transport->send(std::span(data), 1);
    return 0;
  });
  const pid_t receives = start([&] {
    const auto transport = connected(folder, 1, 2);
    char byte = 0;
    for (char expected = 0; expected < 100; ++expected) {
      transport->recv(std::span(&byte, 1), 0);
      if (byte != expected) return 2;
    }
    std::vector<char> data(50000);
    for (int i = 0; i < 20; ++i) transport->recv(std::span(data), 0);
    return data == std::vector<char>(50000, 7) ? 0 : 4;
  });
  CHECK(status_of(sends) == 0);
  CHECK(status_of(receives) == 0);
}

namespace {

/// Runs body in a network of its own, made by these commands of ip's; false, with a word, where it can't be made.
bool in_network(const std::vector<std::string>& commands, const std::function<int()>& body) {
  constexpr int cannot = 77;
  const int status = status_of(start([&] {
    if (unshare(CLONE_NEWNET) != 0) return cannot;
    for (const std::string& command : commands)
      if (std::system(("ip " + command + " 2>&1").c_str()) != 0) return cannot;
    return body();
  }));
  if (status == cannot) std::cout << "skipped 1 of 2: no network of one's own can be made here\n";
  CHECK((status == 0 || status == cannot));
  return status == 0;
}

/// Where two ranks that are told to be of two hosts listen; "" for one host.
std::string places(bool one_host, const std::string& interface) {
  MemoryStore memory;
  const std::vector<std::size_t> hosts{0, one_host ? 0UL : 1UL};
  std::string told;
  const auto errors = errors_on_threads(2, [&](int rank) {
    Store store = on_hosts(memory.store(), hosts, static_cast<std::size_t>(rank));
    if (rank == 0)
      store.set = [&, set = store.set](const std::string& key, const std::string& value) {
        set(key, value);
        if (key.ends_with("/address/0") && !value.empty()) told = value.substr(0, value.find(' '));
      };
    pass_on(*connect_over_tcp(store, {.rank = rank, .ranks = 2, .interface = interface}), 1000);
  });
  for (const std::string& error : errors)
    if (!error.empty()) return error;
  return told;
}

int expect_places(const std::vector<std::pair<std::string, std::string>>& found_and_expected) {
  for (const auto& [found, expected] : found_and_expected)
    if (found != expected) return std::cerr << "listens at " << found << ", expected " << expected << '\n', 1;
  return 0;
}

}  // namespace

TEST_CASE("ranks meet on a host that has IPv6 alone") {
  in_network({"link set lo up", "addr del 127.0.0.1/8 dev lo", "link add d0 type veth peer name e0", "link set e0 up",
              "addr add fd00::7/64 dev d0 nodad", "link set d0 up"},
             [] {
               return expect_places({{places(true, ""), "::1"}, {places(false, ""), "fd00::7"}});
             });
}

TEST_CASE("where a host has two networks, the interface says which, else the first") {
  in_network({"link set lo up", "link add d0 type veth peer name e0", "link set e0 up", "addr add 10.9.1.1/24 dev d0",
              "link set d0 up", "link add d1 type veth peer name e1", "link set e1 up", "addr add 10.9.2.1/24 dev d1",
              "link set d1 up"},
             [] {
               const std::string first = places(false, "");
               const std::string by_option = places(true, "d1");
               setenv("GLOO_SOCKET_IFNAME", "d0", 1);
               const std::string by_gloos = places(false, "");
               setenv("DSOP_SOCKET_IFNAME", "d1", 1);
               return expect_places({{first, "10.9.1.1"},
                                     {by_option, "10.9.2.1"},
                                     {by_gloos, "10.9.1.1"},
                                     {places(false, ""), "10.9.2.1"},
                                     {places(false, "d0"), "10.9.1.1"}});
             });
}
