#include "transport/tcp_socket.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include <dsop/errors.hpp>

#include "base/host_name.hpp"

namespace dsop {
namespace {

unsigned fork_count = 0;

struct Registry {
  std::mutex mutex;
  std::set<int> descriptors;
};

Registry& all_sockets() {
  static Registry& all = *[] {
    pthread_atfork([] { all_sockets().mutex.lock(); }, [] { all_sockets().mutex.unlock(); },
                   [] {
                     for (const int descriptor : all_sockets().descriptors) close(descriptor);
                     all_sockets().descriptors.clear();
                     ++fork_count;
                     all_sockets().mutex.unlock();
                   });
    return std::make_unique<Registry>().release();  // sockets of statics may end after it would
  }();
  return all;
}

std::vector<Address> look_up(const char* host, const char* port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (getaddrinfo(host, port, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    std::memcpy(&addresses.emplace_back().bytes, one->ai_addr, one->ai_addrlen);
    addresses.back().length = one->ai_addrlen;
  }
  return addresses;
}

// Of an IPv6 address's first bytes: neither this host alone nor, without an interface's name, a link alone.
bool is_of_host_or_link(const Address& address) {
  if (address.bytes.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address.bytes).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  const in6_addr& ipv6 = reinterpret_cast<const sockaddr_in6&>(address.bytes).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ipv6) || IN6_IS_ADDR_LINKLOCAL(&ipv6);
}

std::string named_interface(const std::string& given) {
  if (!given.empty()) return given;
  for (const char* const variable : {"DSOP_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"})
    if (const char* const named = std::getenv(variable); named != nullptr && *named != 0) return named;
  return {};
}

// Those of the interface or, where that is "", of loopback, or those that other hosts reach, by the host's name first.
std::vector<Address> places_to_listen(const std::string& interface, bool one_host) {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) found = nullptr;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, freeifaddrs);
  std::vector<Address> places;
  if (interface.empty() && !one_host) places = look_up(host_name().c_str(), nullptr, 0);
  std::erase_if(places, is_of_host_or_link);
  for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
    const int family = one->ifa_addr == nullptr ? AF_UNSPEC : one->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || (one->ifa_flags & IFF_UP) == 0) continue;
    Address place;
    place.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&place.bytes, one->ifa_addr, place.length);
    if (interface.empty() ? is_of_host_or_link(place) == one_host : interface == one->ifa_name) places.push_back(place);
  }
  std::stable_sort(places.begin(), places.end(), [](const Address& a, const Address& b) {
    return a.bytes.ss_family == AF_INET && b.bytes.ss_family != AF_INET;
  });
  return places;
}

}  // namespace

unsigned forks() {
  return fork_count;
}

std::mutex& Socket::registry() {
  return all_sockets().mutex;
}

void Socket::keep(int descriptor) {
  forks_ = fork_count;
  descriptor_ = descriptor;
  if (descriptor >= 0) all_sockets().descriptors.insert(descriptor);
}

Socket::~Socket() {
  if (descriptor_ < 0 || forks_ != fork_count) return;
  const std::lock_guard no_fork(registry());
  all_sockets().descriptors.erase(descriptor_);
  close(descriptor_);
}

std::string Address::text() const {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(get(), length, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return std::string(host.data()) + ' ' + port.data();
}

Address address_of(const std::string& host, const std::string& port) {
  const std::vector<Address> found = look_up(host.c_str(), port.c_str(), AI_NUMERICHOST | AI_NUMERICSERV);
  return found.empty() ? Address() : found[0];
}

Socket tcp_socket(const Address& address) {
  Socket made([&] { return socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  const int yes = 1;
  if (made) setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return made;
}

Listener listen_for_ranks(int rank, const std::string& given_interface, bool one_host) {
  const std::string interface = named_interface(given_interface);
  std::string why = "there is no address";
  for (Address& place : places_to_listen(interface, one_host)) {
    Socket made = tcp_socket(place);
    if (made && bind(made.get(), place.get(), place.length) == 0 && listen(made.get(), SOMAXCONN) == 0 &&
        getsockname(made.get(), reinterpret_cast<sockaddr*>(&place.bytes), &place.length) == 0)
      return {std::move(made), place};
    why = std::strerror(errno);
  }
  throw TransportError("rank " + std::to_string(rank) + " can't listen at " +
                       (interface.empty() ? "this host" : "interface " + interface) + ": " + why);
}

}  // namespace dsop
