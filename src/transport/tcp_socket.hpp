// Sockets, and the addresses by which hosts reach each other.
#pragma once

#include <sys/socket.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace dsop {

/// How many forks lie between the process that has loaded the library and this one.
unsigned forks();

/// A descriptor of this process alone: a forked child's copy is closed at the fork, else the connection would stay open
/// for as long as the child lives.
class Socket {
 public:
  Socket() = default;
  /// Owns what `open()` returns, -1 if it fails.
  template <class Open>
  explicit Socket(const Open& open) {
    const std::lock_guard no_fork(registry());
    keep(open());
  }
  Socket(Socket&& other) noexcept { *this = std::move(other); }
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(forks_, other.forks_);
    return *this;
  }
  ~Socket();

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  static std::mutex& registry();
  void keep(int descriptor);

  int descriptor_ = -1;
  unsigned forks_ = 0;
};

struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  /// "127.0.0.1 4242", "::1 4242".
  std::string text() const;
};

/// Of two words of Address::text(); without length where they are none.
Address address_of(const std::string& host, const std::string& port);

/// A nonblocking socket for this kind of address that sends at once; errno tells why there is none.
Socket tcp_socket(const Address& address);

struct Listener {
  Socket socket;
  Address address;
};

/// Listens at the interface, or, where that is "", at a loopback address or one that other hosts reach: IPv4 where the
/// host has it. Throws TransportError.
Listener listen_for_ranks(int rank, const std::string& interface, bool one_host);

}  // namespace dsop
