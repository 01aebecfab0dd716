// Who connects, or listens, in a rank's place.
#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <sstream>

#include "tcp_ranks.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

/// "HOST PORT SECRET ...", the secrets by rank.
struct Told {
  explicit Told(const std::string& text) {
    std::istringstream words(text);
    words >> host >> port;
    for (std::string secret; words >> secret;) secrets.push_back(secret);
  }
  std::string text() const {
    std::string all = host + ' ' + port;
    for (const std::string& secret : secrets) all += ' ' + secret;
    return all;
  }

  std::string host, port;
  std::vector<std::string> secrets;
};

/// Calls what(address of rank 0) when rank 0 tells it, before anybody has connected.
Store when_told(Store store, const std::function<void(const Told&)>& what) {
  store.set = [set = store.set, what](const std::string& key, const std::string& value) {
    set(key, value);
    if (key.ends_with("/address/0") && !value.empty()) what(Told(value));
  };
  return store;
}

sockaddr_in loopback(const std::string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Catch2's assertions belong to the main thread alone.
void expect(bool good) {
  if (!good) throw Error(std::strerror(errno));
}

/// A connection with who listens there; -1 if there is none.
int connected(const std::string& port) {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return made;
  close(made);
  return -1;
}

class Listening {
 public:
  Listening() {
    sockaddr_in address = loopback("0");
    socklen_t length = sizeof address;
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(listen(socket_, 100) == 0);
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    port = std::to_string(ntohs(address.sin_port));
  }
  Listening(const Listening&) = delete;
  ~Listening() { close(socket_); }
  /// The next connection, or -1 where none comes for a while.
  int next() const {
    pollfd wait{socket_, POLLIN, 0};
    return poll(&wait, 1, 100) == 1 ? accept(socket_, nullptr, nullptr) : -1;
  }
  std::string port;

 private:
  int socket_ = socket(AF_INET, SOCK_STREAM, 0);
};

/// Connects P ranks, which then send to each other; what each has thrown.
std::vector<std::string> errors_of_use(int P, const std::function<Store(int)>& store_of, double limit_seconds = 30) {
  return errors_on_threads(P, [&](int rank) {
    const auto transport = connect_over_tcp(store_of(rank), {.rank = rank, .ranks = P, .limit_seconds = limit_seconds});
    int number = rank;
    int received = -1;
    transport->sendrecv(std::span(&number, 1), (rank + 1) % P, std::span(&received, 1), (rank + P - 1) % P);
    if (received != (rank + P - 1) % P) throw Error("the message is wrong");
  });
}

}  // namespace

TEST_CASE("who connects without the secret is taken for nobody, whatever comes first") {
  MemoryStore memory;
  std::vector<int> strangers;
  const Store store = when_told(memory.store(), [&](const Told& told) {
    // One is silent, one says half of a secret that it does not know, one another secret, one a rank's own, one is
    // gone.
    for (const std::string& said :
         {std::string(), std::string(16, '0'), std::string(32, '0'), told.secrets[1], std::string(100000, 'x')}) {
      strangers.push_back(connected(told.port));
      expect(send(strangers.back(), said.data(), said.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(said.size()));
    }
    close(connected(told.port));
  });
  CHECK(errors_of_use(3, [&](int) { return store; }) == std::vector<std::string>(3));
  for (const int stranger : strangers) {
    char said = 0;
    CHECK(recv(stranger, &said, 1, 0) <= 0);  // it was told nothing
    close(stranger);
  }
}

TEST_CASE("half of the right secret, and then silence, keeps nobody out") {
  MemoryStore memory;
  int stranger = -1;
  Store store = memory.store();
  // Who has seen a secret on its way may be first, but does not know the other half.
  store.set = [&, set = store.set](const std::string& key, const std::string& value) {
    set(key, value);
    if (!key.ends_with("/address/1") || value.empty()) return;
    if (!memory.store().wait("run/0/address/0", 30)) return;
    stranger = connected(Told(memory.store().get("run/0/address/0")).port);
    send(stranger, Told(value).secrets[0].data(), 16, MSG_NOSIGNAL);
  };
  CHECK(errors_of_use(2, [&](int) { return store; }) == std::vector<std::string>(2));
  close(stranger);
}

TEST_CASE("a thousand strangers keep no rank out") {
  // Where this process may open few descriptors, they run out. The strangers are another process's.
  const rlim_t most_descriptors = GENERATE(rlim_t{0}, rlim_t{40});
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  MemoryStore memory;
  pid_t process = -1;
  const Store store = when_told(memory.store(), [&](const Told& told) {
    int pipes[2];
    expect(pipe(pipes) == 0);
    process = fork();
    if (process == 0) {
      const rlimit many{std::min<rlim_t>(2000, before.rlim_max), before.rlim_max};
      setrlimit(RLIMIT_NOFILE, &many);
      for (int i = 0; i < 1000; ++i) connected(told.port);
      if (write(pipes[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char ready = 0;
    expect(read(pipes[0], &ready, 1) == 1);
    for (const int end : pipes) close(end);
    const rlimit few{most_descriptors == 0 ? before.rlim_cur : most_descriptors, before.rlim_max};
    expect(setrlimit(RLIMIT_NOFILE, &few) == 0);
  });
  const auto errors = errors_of_use(3, [&](int) { return store; });
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(errors == std::vector<std::string>(3));
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
}

TEST_CASE("who listens in a rank's place is refused: an echo, another secret, silence, an end") {
  const std::string kind = GENERATE("echo", "other", "silence", "end");
  CAPTURE(kind);
  MemoryStore memory;
  const Listening impostor;
  std::jthread listens([&](const std::stop_token& stop) {
    std::vector<int> taken;
    while (!stop.stop_requested()) {
      const int made = impostor.next();
      if (made < 0) continue;
      taken.push_back(made);
      std::string said(32, '\0');
      if (kind == "echo" && recv(made, said.data(), said.size(), MSG_WAITALL) != 32) continue;
      if (kind == "other") said = std::string(32, '7');
      if (kind == "echo" || kind == "other") send(made, said.data(), said.size(), MSG_NOSIGNAL);
      if (kind == "end") shutdown(made, SHUT_RDWR);
    }
    for (const int one : taken) close(one);
  });
  const auto errors = errors_of_use(
      2,
      [&](int rank) {
        Store store = memory.store();
        if (rank == 1)
          store.get = [&, get = store.get](const std::string& key) {
            if (!key.ends_with("/address/0")) return get(key);
            Told told(get(key));
            told.port = impostor.port;
            return told.text();
          };
        return store;
      },
      2);
  const std::string why = kind == "silence" ? "it does not answer"
                          : kind == "end"   ? "it closes the connection"
                                            : "another than this rank answers";
  const std::string of_rank_0 = "rank 1 of 2 has not connected with rank 0 within 2 s";
  const std::string of_rank_1 =
      "rank 0 of 2 has not connected with rank 1 (127.0.0.1 " + impostor.port + ": " + why + ") within 2 s";
  const std::string failed = "run run, restart 0, has failed: ";
  CHECK((errors[0] == of_rank_0 || errors[0] == failed + of_rank_1));
  CHECK((errors[1] == of_rank_1 || errors[1] == failed + of_rank_0));
}

TEST_CASE("secrets and addresses that were changed in the store are refused") {
  const auto errors_of = [](const std::function<void(Told&)>& change) {
    MemoryStore memory;
    return errors_of_use(
        2,
        [&](int rank) {
          Store store = memory.store();
          if (rank == 1)
            store.get = [get = store.get, change](const std::string& key) {
              std::string value = get(key);
              if (!key.ends_with("/address/0") || value.empty()) return value;
              Told told(value);
              change(told);
              return told.text();
            };
          return store;
        },
        2);
  };
  for (const std::string& error : errors_of([](Told& told) { told.secrets[1][5] ^= 1; })) {
    CAPTURE(error);
    const bool hears_of_it = error.find("the connection is closed") != std::string::npos;
    CHECK((hears_of_it || error.find("another than this rank answers") != std::string::npos));
  }
  const std::string no_address = "what rank 0 has left in the store is no address with secrets: ";
  for (const auto& change : {std::function<void(Told&)>([](Told& told) { told.host = "nowhere"; }),
                             std::function<void(Told&)>([](Told& told) { told.port = "-1"; }),
                             std::function<void(Told&)>([](Told& told) { told.secrets.pop_back(); }),
                             std::function<void(Told&)>([](Told& told) { told.secrets[1].pop_back(); })}) {
    const auto errors = errors_of(change);
    CAPTURE(errors[0], errors[1]);
    CHECK(errors[1].starts_with(no_address));
    CHECK(errors[0].starts_with("run run, restart 0, has failed: " + no_address));
  }
}
