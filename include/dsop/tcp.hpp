// Ranks that are processes, without MPI: they find each other through a store and send over TCP connections.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <dsop/transport.hpp>

namespace dsop {

/// Where ranks leave texts for each other, without zero bytes: torch.distributed's stores have these three functions.
/// They are called by the thread that connects, one at a time; what they throw ends the connecting. Who can read the
/// store can join as any rank.
struct Store {
  std::function<void(const std::string& key, const std::string& value)> set;
  /// Of a key that is there.
  std::function<std::string(const std::string& key)> get;
  /// Whether the key is there; waits for it for up to so many seconds, perhaps 0. A key that wait() has not seen may be
  /// asked for again.
  std::function<bool(const std::string& key, double seconds)> wait;
};

/// A file on a disk that all ranks see; made for its owner alone if it is not there. What is set is appended, so that
/// the file may serve several runs with names of their own. Throws ArgumentError if it can't be opened, and Error later
/// if it can't be used.
Store file_store(const std::filesystem::path& path);

struct TcpOptions {
  int rank = 0;
  int ranks = 1;
  std::string run = "run";    ///< keys begin with it, and with `restart`: runs on one store must differ in one of them
  int restart = 0;            ///< how often the run has been started again
  double limit_seconds = 30;  ///< for all ranks to come, then to tell their addresses, then to connect
  /// The network interface at which this rank listens. Empty: that of the environment variable DSOP_SOCKET_IFNAME or
  /// GLOO_SOCKET_IFNAME; else the loopback one where all ranks are of one host; else that of this host's name, or the
  /// first one that is none of loopback.
  std::string interface = {};
};

/// Connects every rank with every other one and returns this rank's end; all ranks must call it. Messages progress
/// while a rank is within wait() or test(). Ranks with one host name share a node. No rank uses the store after any has
/// returned without an error, and its keys can be used again. Destroying the transport closes the connections: a rank
/// that still waits for this one throws. So does one that waits when another's wait has failed, or has given up a send.
/// A child that this process forks has no part in it. Throws ArgumentError if an option makes no sense, and
/// TransportError on every rank if a rank does not come in time (names it), two processes have one rank's number, the
/// ranks disagree about their number or dsop's version, or the store loses what was set.
std::unique_ptr<Transport> connect_over_tcp(const Store& store, const TcpOptions& options);

}  // namespace dsop
