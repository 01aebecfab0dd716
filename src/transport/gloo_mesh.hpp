// Connections of every rank with every other one, over Gloo's TCP.
#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace dsop {

class GlooMesh final : public gloo::transport::tcp::Context {
 public:
  /// Listens at `address` (a host's name or number) or, if that is not empty, at the interface's. Throws
  /// TransportError.
  static std::shared_ptr<GlooMesh> make(int rank, int size, const std::string& address, const std::string& interface,
                                        std::chrono::milliseconds limit);

  GlooMesh(std::shared_ptr<gloo::transport::tcp::Device> device, int own_rank, int ranks);
  ~GlooMesh() override { pairs_.clear(); }  // until then they tell it what is closed

  /// Where this rank waits for `peer`: printable text without spaces.
  std::string address_for(int peer);
  /// Returns when the two are connected; `its_address` is the peer's address_for() this rank. Throws what Gloo throws.
  void connect(int peer, const std::string& its_address);
  /// Closes all connections: this rank's and its peers' messages fail.
  void close(const std::string& why) { signalException(why); }
  /// Returns when all that was sent has arrived at its host, at the latest after `limit`. A connection that is closed
  /// before may lose what was sent, if its peer sends something too.
  void drain(std::chrono::milliseconds limit);

  bool is_closed(int peer) const { return closed_[static_cast<std::size_t>(peer)]; }
  std::vector<int> closed_peers() const;

 private:
  class Peer;

  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override;

  std::vector<std::atomic<bool>> closed_;
};

}  // namespace dsop
