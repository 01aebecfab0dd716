#include "transport/gloo_mesh.hpp"

#include <gloo/transport/address.h>
#include <gloo/transport/tcp/attr.h>
#include <gloo/transport/tcp/pair.h>

#include <linux/sockios.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>
#include <ctime>
#include <thread>

#include <dsop/errors.hpp>

#include "transport/signals.hpp"

namespace dsop {

namespace tcp = gloo::transport::tcp;

// A connection that says when it is closed: Gloo tells the messages that have not begun to travel, not the others. And
// one that waits for its lock: Gloo's thread would ask for it again and again, and where ranks share cores keep whoever
// holds it from going on, for whole turns of milliseconds.
class GlooMesh::Peer final : public tcp::Pair {
 public:
  Peer(GlooMesh& mesh, tcp::Device& device, int rank)
      : Pair(&mesh, &device, rank, mesh.getTimeout()), mesh_(mesh), peer_rank_(rank) {}

  bool is_drained() {
    const std::lock_guard lock(m_);
    int bytes = 0;
    return state_ != CONNECTED || (tx_.empty() && (ioctl(fd_, SIOCOUTQ, &bytes) != 0 || bytes == 0));
  }

  // Not for ever: who holds the lock may wait for Gloo's thread, which is asked again afterwards.
  void handleEvents(int events) override {
    constexpr long nanoseconds_a_second = 1'000'000'000;
    constexpr long longest_nanoseconds = 1'000'000;
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += longest_nanoseconds;
    until.tv_sec += until.tv_nsec / nanoseconds_a_second;
    until.tv_nsec %= nanoseconds_a_second;
    if (pthread_mutex_clocklock(m_.native_handle(), CLOCK_MONOTONIC, &until) != 0) return;
    m_.unlock();
    Pair::handleEvents(events);
  }

 private:
  void changeState(state next) noexcept override {
    // A forked child has the socket too: it would stay open until the child has ended.
    if (next == CLOSED && state_ == CONNECTED) ::shutdown(fd_, SHUT_RDWR);
    Pair::changeState(next);
    if (next == CLOSED) mesh_.closed_[static_cast<std::size_t>(peer_rank_)] = true;
  }

  GlooMesh& mesh_;
  int peer_rank_;
};

GlooMesh::GlooMesh(std::shared_ptr<tcp::Device> device, int own_rank, int ranks)
    : Context(std::move(device), own_rank, ranks), closed_(static_cast<std::size_t>(ranks)) {}

std::unique_ptr<gloo::transport::Pair>& GlooMesh::createPair(int peer) {
  std::unique_ptr<gloo::transport::Pair>& pair = pairs_[static_cast<std::size_t>(peer)];
  pair = std::make_unique<Peer>(*this, *device_, peer);
  return pair;
}

std::shared_ptr<GlooMesh> GlooMesh::make(int rank, int size, const std::string& address, const std::string& interface,
                                         std::chrono::milliseconds limit) {
  tcp::attr attributes(address.c_str());
  attributes.iface = interface;
  try {
    const NoSignals for_glooss_thread;
    auto mesh =
        std::make_shared<GlooMesh>(std::dynamic_pointer_cast<tcp::Device>(tcp::CreateDevice(attributes)), rank, size);
    constexpr int of_gloo = 5;  // it waits so many times longer for a connection
    mesh->setTimeout(limit / of_gloo + std::chrono::milliseconds(1));
    for (int peer = 0; peer < size; ++peer)
      if (peer != rank) mesh->createPair(peer);
    return mesh;
  } catch (const std::exception& failure) {
    throw TransportError("rank " + std::to_string(rank) + " can't listen at " +
                         (interface.empty() ? address : "interface " + interface) + ": " + failure.what());
  }
}

namespace {

std::string bytes_in_hexadecimal(const std::vector<char>& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::vector<char> bytes_of(const std::string& text) {
  std::vector<char> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

}  // namespace

std::string GlooMesh::address_for(int peer) {
  return bytes_in_hexadecimal(getPair(peer)->address().bytes());
}

void GlooMesh::connect(int peer, const std::string& its_address) {
  const NoSigpipe no_sigpipe;
  getPair(peer)->connect(bytes_of(its_address));
}

void GlooMesh::drain(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (const auto& pair : pairs_)
    while (pair && !static_cast<Peer&>(*pair).is_drained() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::vector<int> GlooMesh::closed_peers() const {
  std::vector<int> peers;
  for (int peer = 0; peer < size; ++peer)
    if (is_closed(peer)) peers.push_back(peer);
  return peers;
}

}  // namespace dsop
