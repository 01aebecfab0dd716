#include "transport/host_address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <memory>

#include "base/host_name.hpp"

namespace dsop {
namespace {

bool is_loopback(const sockaddr_in& address) {
  return ntohl(address.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

std::string text_of(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
}

const sockaddr_in& as_ipv4(const sockaddr* address) {
  return *reinterpret_cast<const sockaddr_in*>(address);
}

std::string address_of_name(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next)
    if (!is_loopback(as_ipv4(one->ai_addr))) return text_of(as_ipv4(one->ai_addr));
  return {};
}

std::string address_of_first_interface() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, freeifaddrs);
  for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
    const bool is_ipv4 = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET;
    if (is_ipv4 && (one->ifa_flags & IFF_UP) != 0 && !is_loopback(as_ipv4(one->ifa_addr)))
      return text_of(as_ipv4(one->ifa_addr));
  }
  return {};
}

}  // namespace

std::string reachable_address() {
  const std::string name = host_name();
  const std::string address = address_of_name(name);
  if (!address.empty()) return address;
  const std::string first = address_of_first_interface();
  return first.empty() ? name : first;
}

}  // namespace dsop
