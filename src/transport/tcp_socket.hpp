// Sockets, and the addresses by which hosts reach each other.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>

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

constexpr std::size_t secret_bytes = 32;  // 128 random bits in hexadecimal

/// A connection with whom is not proved to be a rank: not a byte more than a secret is read.
struct Claim {
  Socket socket = {};
  bool has_spoken = false;  // this rank, where it connects
  std::string said = std::string(secret_bytes, ' ');
  std::size_t bytes = 0;
  bool is_broken = false;

  bool is_whole() {
    const ssize_t got = recv(socket.get(), said.data() + bytes, said.size() - bytes, 0);
    if (got > 0) bytes += static_cast<std::size_t>(got);
    is_broken = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    return bytes == said.size();
  }
};

struct Listener {
  Socket socket;
  Address address;
};

/// Listens at the interface, that which is given or else the environment's; or, where there is none, at a loopback
/// address or one that other hosts reach: IPv4 where the host has it. Throws TransportError.
Listener listen_for_ranks(int rank, const std::string& given_interface, bool one_host);

}  // namespace dsop
