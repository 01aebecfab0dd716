// Stores, and ranks that do not find each other.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "base/version.hpp"
#include "tcp_ranks.hpp"
#include "transport/interrupt.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

class TemporaryFile {
 public:
  ~TemporaryFile() { std::filesystem::remove(path); }
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("dsop-store-" + std::to_string(getpid()));
};

void use(Transport& transport) {
  int number = transport.rank();
  const int P = transport.size();
  int received = 0;
  transport.sendrecv(std::span(&number, 1), (number + 1) % P, std::span(&received, 1), (number + P - 1) % P);
  if (received != (number + P - 1) % P) throw Error("the message is wrong");
}

std::vector<std::string> errors_of_connecting(int P, const Store& store,
                                              const std::function<TcpOptions(int)>& options) {
  return errors_on_threads(P, [&](int rank) { use(*connect_over_tcp(store, options(rank))); });
}

}  // namespace

TEST_CASE("ranks meet in a file, again and again, also in several runs at once") {
  const TemporaryFile file;
  for (int repetition = 0; repetition < 3; ++repetition)
    CHECK(errors_on_threads(6, [&](int rank) {
            use(*connect_over_tcp(
                file_store(file.path),
                {.rank = rank / 2, .ranks = 3, .run = "run " + std::to_string(rank % 2), .restart = rank % 2}));
          }) == std::vector<std::string>(6));
}

TEST_CASE("a file that is no store is refused") {
  const TemporaryFile file;
  std::ofstream(file.path) << "something else\n";
  CHECK_THROWS_WITH(file_store(file.path), "store " + file.path.string() + " is a file of another kind");
  CHECK_THROWS_WITH(file_store("/"), "store / is a folder, expected a file");
  CHECK_THROWS_WITH(file_store("/dev/zero"), "store /dev/zero is a device, a pipe or a socket, expected a file");
  CHECK_THROWS_WITH(file_store("/no/such/folder/store"),
                    "store /no/such/folder/store can't be written: No such file or directory");
}

TEST_CASE("a store is its owner's alone") {
  const TemporaryFile file;
  file_store(file.path);
  CHECK(std::filesystem::status(file.path).permissions() == std::filesystem::perms(0600));
  std::filesystem::permissions(file.path, std::filesystem::perms(0666));
  file_store(file.path);  // of an earlier run, or made beforehand
  CHECK(std::filesystem::status(file.path).permissions() == std::filesystem::perms(0600));
  if (chown(file.path.c_str(), 4242, 4242) == 0)  // as root
    CHECK_THROWS_WITH(file_store(file.path),
                      "store " + file.path.string() +
                          " can't be written: user 4242 owns it, expected 0: who reads the store "
                          "can join");
}

TEST_CASE("a record counts once it is whole, and what another process puts in the file's place is read anew") {
  const TemporaryFile file;
  const Store store = file_store(file.path);
  store.set("a", "1");
  std::ofstream(file.path, std::ios::app) << "dsop 1 4 b12";  // its process was stopped there
  CHECK(store.wait("a", 0));
  CHECK_FALSE(store.wait("b", 0));
  std::ofstream(file.path, std::ios::app) << "34\n";
  CHECK(store.get("b") == "1234");
  store.set("a", "2");
  CHECK(store.get("a") == "2");
  std::filesystem::remove(file.path);
  file_store(file.path).set("c", "3");
  CHECK_FALSE(store.wait("a", 0));
  CHECK(store.get("c") == "3");
}

TEST_CASE("a store that another process keeps locked is waited for until the limit, or until it is free") {
  const TemporaryFile file;
  const Store store = file_store(file.path);
  const int locked = open(file.path.c_str(), O_RDONLY);
  REQUIRE(flock(locked, LOCK_EX) == 0);
  CHECK_THROWS_WITH(connect_over_tcp(store, {.limit_seconds = 0.2}),
                    "the store could not set run/0/rank/0: " + file.path.string() +
                        " can't be written: another process keeps it locked");
  std::jthread frees([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    flock(locked, LOCK_UN);
  });
  use(*connect_over_tcp(store, {}));
  close(locked);
}

TEST_CASE("a rank that stops while the others end connecting is waited for until the limit") {
  MemoryStore memory;
  std::atomic<bool> goes_on = false;
  Store stops = memory.store();
  stops.set = [&, set = stops.set](const std::string& key, const std::string& value) {
    while (value.empty() && !goes_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    set(key, value);
  };
  const auto errors = errors_on_threads(2, [&](int rank) {
    try {
      use(*connect_over_tcp(rank == 1 ? stops : memory.store(), {.rank = rank, .ranks = 2, .limit_seconds = 2}));
    } catch (const std::exception&) {
      goes_on = true;
      throw;
    }
  });
  CHECK(errors[0] == "rank 1 of 2 has not ended connecting within 2 s");
  CHECK(errors[1] != "");
}

TEST_CASE("a program may interrupt each wait of connecting") {
  // The number of the other rank's keys that come: none, its introduction, its address, and all but the last exchange.
  const int keys = GENERATE(0, 1, 2);
  CAPTURE(keys);
  MemoryStore memory;
  std::atomic<bool> goes_on = false;
  std::atomic<int> set_keys = 0;
  Store stops = memory.store();
  stops.set = [&, set = stops.set](const std::string& key, const std::string& value) {
    while (set_keys == keys && !goes_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++set_keys;
    set(key, value);
  };
  const auto errors = errors_on_threads(2, [&](int rank) {
    if (rank == 0) set_interrupt_check([] { return 1; });
    try {
      use(*connect_over_tcp(rank == 1 ? stops : memory.store(), {.rank = rank, .ranks = 2}));
    } catch (const std::exception&) {
      goes_on = true;
      throw;
    }
  });
  CHECK(errors[0] == "the program has interrupted a wait for other ranks");
  const bool hears_why = errors[1].ends_with(": the program has interrupted a wait for other ranks");
  const bool is_connected = keys == 2 && errors[1].find("the connection is closed") != std::string::npos;
  CHECK((hears_why || is_connected));
}

TEST_CASE("ranks of another version are refused on all ranks") {
  const std::string other = GENERATE("9.8.7, record format 1", "9.8.7, record format 65", "");
  CAPTURE(other);
  MemoryStore memory;
  const auto store_of = [&](int rank) {
    Store store = memory.store();
    store.get = [get = store.get, other, rank](const std::string& key) {
      std::string value = get(key);
      const std::size_t found = value.find(own_version());
      // What the rank itself has given it must find unchanged, so for rank 1 it is the others that differ.
      if (found != std::string::npos && (rank == 1) != key.ends_with("/rank/1"))
        value.replace(found, std::string::npos, other);
      return value;
    };
    return store;
  };
  const auto errors =
      errors_on_threads(3, [&](int rank) { connect_over_tcp(store_of(rank), {.rank = rank, .ranks = 3}); });
  for (const std::string& error : errors) {
    CAPTURE(error);
    const bool by_itself =
        error.ends_with("the ranks disagree: dsop is " + own_version() + ", on rank 0; " + other + ", on rank 1");
    const bool by_rank_1 =
        error.ends_with("the ranks disagree: dsop is " + other + ", on rank 0; " + own_version() + ", on rank 1");
    CHECK((by_itself || by_rank_1));
  }
}

TEST_CASE("a rank that never comes is named by all") {
  MemoryStore memory;
  const auto errors = errors_of_connecting(3, memory.store(), [](int rank) {
    return TcpOptions{.rank = rank == 2 ? 4 : rank, .ranks = 6, .limit_seconds = 2};
  });
  for (const std::string& error : errors)
    CHECK(error.ends_with("ranks 2-3, 5 of 6 have not come to the store within 2 s"));
}

TEST_CASE("two ranks with one number are an error on all") {
  MemoryStore memory;
  const auto errors = errors_of_connecting(
      4, memory.store(), [](int rank) { return TcpOptions{.rank = rank == 3 ? 1 : rank, .ranks = 4}; });
  for (const std::string& error : errors) {
    const bool names_it = error.find("rank 1 of run run") != std::string::npos;
    CHECK(names_it);
  }
}

TEST_CASE("ranks that disagree about their number are an error on all") {
  MemoryStore memory;
  const auto errors = errors_of_connecting(
      3, memory.store(), [](int rank) { return TcpOptions{.rank = rank, .ranks = rank == 1 ? 2 : 3}; });
  for (const std::string& error : errors) {
    const bool tells = error.find("the ranks disagree: ranks is 3 on rank 0, 2 on rank 1") != std::string::npos;
    CHECK((tells || error.find("failed") != std::string::npos));
  }
}

TEST_CASE("a store that loses keys is an error on all") {
  MemoryStore memory;
  Store loses = memory.store();
  loses.set = [set = loses.set](const std::string& key, const std::string& value) {
    if (!key.ends_with("rank/1")) set(key, value);
  };
  const auto errors = errors_of_connecting(
      2, loses, [](int rank) { return TcpOptions{.rank = rank, .ranks = 2, .limit_seconds = 0.5}; });
  CHECK(errors[0] == "run run, restart 0, has failed: " + errors[1]);
  CHECK(errors[1] == "the store has lost run/0/rank/1, which rank 1 has set");
}

TEST_CASE("a store that ends with rank 0's connecting serves the others until then") {
  MemoryStore memory;
  std::atomic<bool> ended = false;
  Store store = memory.store();
  store.set = [set = store.set, &ended](const std::string& key, const std::string& value) {
    // Others than rank 0 are slow to take back what they have given.
    if (value.empty() && !key.ends_with("/0")) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (ended) throw std::runtime_error("the server is gone");
    set(key, value);
  };
  CHECK(errors_on_threads(4, [&](int rank) {
          const auto transport = connect_over_tcp(store, {.rank = rank, .ranks = 4});
          if (rank == 0) ended = true;
          use(*transport);
        }) == std::vector<std::string>(4));
}

TEST_CASE("a store that fails is an error on all") {
  MemoryStore memory;
  Store fails = memory.store();
  fails.get = [](const std::string&) -> std::string { throw std::runtime_error("the server is gone"); };
  const auto errors = errors_of_connecting(2, fails, [](int rank) { return TcpOptions{.rank = rank, .ranks = 2}; });
  for (const std::string& error : errors) CHECK(error.ends_with(": the server is gone"));
}

TEST_CASE("options of ranks over TCP that make no sense are refused") {
  MemoryStore memory;
  const auto error_of = [&](const TcpOptions& options) {
    return argument_error_of([&] { connect_over_tcp(memory.store(), options); });
  };
  CHECK(error_of({.rank = 0, .ranks = 0}) == "ranks is 0, expected 1 to 65536");
  CHECK(error_of({.rank = 0, .ranks = 65537}) == "ranks is 65537, expected 1 to 65536");
  CHECK(error_of({.rank = 3, .ranks = 3}) == "rank is 3, expected 0 to 2");
  CHECK(error_of({.rank = -1, .ranks = 3}) == "rank is -1, expected 0 to 2");
  CHECK(error_of({.restart = -1}) == "restart is -1, expected 0 or more");
  CHECK(error_of({.limit_seconds = 0}) == "limit_seconds is 0, expected more than 0 and at most 1e6");
  CHECK(argument_error_of([] { connect_over_tcp({}, {}); }) == "the store lacks set, get or wait, expected all");
}

TEST_CASE("an interface that is not there is an error on all") {
  MemoryStore memory;
  const auto errors = errors_of_connecting(2, memory.store(), [](int rank) {
    return TcpOptions{.rank = rank, .ranks = 2, .interface = rank == 0 ? "lo" : "no-such"};
  });
  for (const std::string& error : errors) {
    const bool names_it = error.find("rank 1 can't listen at interface no-such") != std::string::npos;
    CHECK(names_it);
  }
}
