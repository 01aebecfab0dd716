// Communicators of ranks that find each other through a store.
#include <dsop/tcp.hpp>

#include <limits>

#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/status.hpp"

namespace dsop::c {
namespace {

using Set = int (*)(const char* key, const char* value, void* data);
using Get = int (*)(const char* key, char* value, std::size_t room, void* data);
using Wait = int (*)(const char* key, double seconds, void* data);

TcpOptions tcp_options(int rank, int ranks, const char* text) {
  TcpOptions options{.rank = rank, .ranks = ranks};
  std::size_t restart = 0;
  read_options(text, {{"run", &options.run},
                      {"restart", &restart},
                      {"limit_seconds", &options.limit_seconds},
                      {"interface", &options.interface}});
  if (restart > std::numeric_limits<int>::max())
    throw ArgumentError("restart is " + std::to_string(restart) + ", expected at most 2147483647");
  options.restart = static_cast<int>(restart);
  return options;
}

void expect_result(int result, int most) {
  if (result < 0 || result > most) throw Error("its function has returned " + std::to_string(result));
}

Store store_of(Set set, Get get, Wait wait, void* data, int ranks) {
  if (set == nullptr || get == nullptr || wait == nullptr)
    throw ArgumentError("set, get or wait is null, expected three functions");
  const std::size_t room = 4096 + 1024 * static_cast<std::size_t>(ranks > 0 ? ranks : 0);
  return {.set = [=](const std::string& key,
                     const std::string& value) { expect_result(set(key.c_str(), value.c_str(), data), 0); },
          .get =
              [=](const std::string& key) {
                std::string value(room, '\0');
                expect_result(get(key.c_str(), value.data(), room, data), 0);
                return std::string(value.c_str());
              },
          .wait =
              [=](const std::string& key, double seconds) {
                const int is_there = wait(key.c_str(), seconds, data);
                expect_result(is_there, 1);
                return is_there == 1;
              }};
}

Handle connect(const Store& store, const TcpOptions& options) {
  return put(std::make_shared<CommunicatorHandle>(connect_over_tcp(store, options)));
}

}  // namespace
}  // namespace dsop::c

using namespace dsop::c;

int dsop_communicator_from_store(Set set, Get get, Wait wait, void* data, int rank, int ranks, const char* options,
                                 dsop_communicator* communicator) {
  return returning_status([&] {
    Handle& handle = result(communicator, "communicator");
    handle = connect(store_of(set, get, wait, data, ranks), tcp_options(rank, ranks, options));
  });
}

int dsop_communicator_from_file(const char* path, int rank, int ranks, const char* options,
                                dsop_communicator* communicator) {
  return returning_status([&] {
    Handle& handle = result(communicator, "communicator");
    const std::string given = given_text(path, "path", "a file's");
    handle = connect(dsop::file_store(given), tcp_options(rank, ranks, options));
  });
}
