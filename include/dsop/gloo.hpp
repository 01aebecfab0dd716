// Ranks that are processes, without MPI: they find each other through a store and send over Gloo's TCP connections.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <dsop/transport.hpp>

namespace dsop {

/// Where ranks leave texts for each other, without zero bytes: torch.distributed's stores have these three functions.
/// They are called by the thread that connects, one at a time; what they throw ends the connecting.
struct Store {
  std::function<void(const std::string& key, const std::string& value)> set;
  /// Of a key that is there.
  std::function<std::string(const std::string& key)> get;
  /// Whether the key is there; waits for it for up to so many seconds, perhaps 0. A key that wait() has not seen may be
  /// asked for again.
  std::function<bool(const std::string& key, double seconds)> wait;
};

/// A file on a disk that all ranks see; made if it is not there. What is set is appended, so that the file may serve
/// several runs with names of their own. Throws ArgumentError if it can't be opened, and Error later if it can't be
/// used.
Store file_store(const std::filesystem::path& path);

struct GlooOptions {
  int rank = 0;
  int ranks = 1;
  std::string run = "run";    ///< keys begin with it, and with `restart`: runs on one store must differ in one of them
  int restart = 0;            ///< how often the run has been started again
  double limit_seconds = 30;  ///< for all ranks to come, and then for each connection
  /// The network interface whose address others connect to. Empty: that of the environment variable GLOO_SOCKET_IFNAME,
  /// else this host's: of its name if that is no loopback address, else of its first interface.
  std::string interface = {};
};

/// Whether this build has Gloo (meson setup -Dgloo=enabled).
bool has_gloo();

/// Connects every rank with every other one and returns this rank's end; all ranks must call it. One thread of Gloo's
/// serves all of its connections. Ranks with one host name share a node. No rank uses the store after any has
/// returned without an error, and its keys can be used again. Destroying the transport closes the connections: a rank
/// that still waits for this one throws. So does a request that is given up, since Gloo can take back no message.
/// Throws ArgumentError if an option makes no sense or the build has no Gloo, and TransportError on every rank if a
/// rank does not come in time (names it), two processes have one rank's number, the ranks disagree about their number,
/// or the store loses what was set.
std::unique_ptr<Transport> connect_over_gloo(const Store& store, const GlooOptions& options);

}  // namespace dsop
