// From a store to connected ranks. The store tells each pair two secrets, one a direction: who connects says its own
// before anything else, and then hears the other's. So ranks know each other. Who connects in a rank's place learns
// nothing. Who listens in one's place is not taken for it, but learns the secret that is said to it.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <random>
#include <sstream>
#include <thread>

#include <dsop/errors.hpp>

#include "base/host_name.hpp"
#include "base/version.hpp"
#include "transport/tcp_meeting.hpp"
#include "transport/tcp_socket.hpp"
#include "transport/tcp_transport.hpp"

namespace dsop {
namespace {

using std::to_string;
using Clock = Meeting::Clock;

std::string random_secret() {
  std::random_device random;
  std::string text(secret_bytes, ' ');
  for (char& digit : text) digit = "0123456789abcdef"[random() % 16];
  return text;
}

// Of texts that the ranks say of themselves when they come: "RANKS HOST PROCESS RANDOM VERSION". No two processes say
// the same, so that two with one number do not take each other's word for their own.
std::vector<int> nodes_of(const std::vector<std::string>& texts) {
  std::vector<std::string> counts(texts.size()), hosts(texts.size()), versions(texts.size());
  std::vector<int> nodes;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    std::istringstream words(texts[r]);
    std::string process, random;
    std::getline(words >> counts[r] >> hosts[r] >> process >> random >> std::ws, versions[r]);
    nodes.push_back(static_cast<int>(std::find(hosts.begin(), hosts.end(), hosts[r]) - hosts.begin()));
  }
  expect_one_version(versions);
  for (std::size_t r = 1; r < texts.size(); ++r)
    if (counts[r] != counts[0])
      throw TransportError("the ranks disagree: ranks is " + counts[0] + " on rank 0, " + counts[r] + " on rank " +
                           to_string(r));
  return nodes;
}

struct Peer {
  int rank = 0;
  Address address;
  std::string own;       // secret, which this rank says to it
  std::string theirs{};  // which it says to this rank
  Socket socket{};       // once it is proved
  Claim attempt{};       // to connect with it
  Clock::time_point next_attempt{};
  std::string failure = "it does not answer";

  bool hears(const Socket& through) const {
    return send(through.get(), own.data(), own.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(own.size());
  }
};

class Connecting {
 public:
  Connecting(Meeting& meeting, int rank, std::vector<Peer>& peers) : meeting_(meeting), rank_(rank), peers_(peers) {}

  /// Returns when all peers have a socket. Ranks connect with lower ones.
  void run(const Socket& listener) {
    for (;; sleep(listener)) {
      for (Peer& peer : peers_)
        if (peer.rank < rank_ && !peer.socket && Clock::now() >= peer.next_attempt) attempt(peer);
      accept_claims(listener);
      std::erase_if(claims_, [&](Claim& claim) { return is_settled(claim); });
      if (missing().empty()) return;
      if (meeting_.is_over(true)) meeting_.throw_missing(missing(), "connected with rank " + to_string(rank_) + why());
    }
  }

 private:
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (const Peer& peer : peers_)
      if (!peer.socket && peer.rank != rank_) ranks.push_back(peer.rank);
    return ranks;
  }

  std::string why() const {
    for (const Peer& peer : peers_)
      if (peer.rank < rank_ && !peer.socket) return " (" + peer.address.text() + ": " + peer.failure + ')';
    return {};
  }

  void attempt(Peer& peer) {
    if (!peer.attempt.socket) {
      peer.attempt = {.socket = tcp_socket(peer.address)};
      if (!peer.attempt.socket) return fail(peer, errno);
      if (connect(peer.attempt.socket.get(), peer.address.get(), peer.address.length) != 0 && errno != EINPROGRESS)
        return fail(peer, errno);
    }
    if (!peer.attempt.has_spoken) {
      peer.attempt.has_spoken = peer.hears(peer.attempt.socket);
      if (!peer.attempt.has_spoken && errno != EAGAIN) fail(peer, errno);
    } else if (peer.attempt.is_whole()) {
      if (peer.attempt.said == peer.theirs)
        peer.socket = std::move(peer.attempt.socket);
      else
        fail(peer, 0, "another than this rank answers");
    } else if (peer.attempt.is_broken) {
      fail(peer, 0, "it closes the connection");
    }
  }

  void fail(Peer& peer, int error, const char* why = nullptr) {
    if ((error == EMFILE || error == ENFILE) && !claims_.empty()) claims_.pop_front();
    peer.failure = why != nullptr ? why : std::strerror(error);
    peer.attempt = {};
    peer.next_attempt = Clock::now() + between_attempts;
  }

  void accept_claims(const Socket& listener) {
    const std::size_t most = peers_.size() + 64;
    for (std::size_t turn = 0; turn < most; ++turn) {
      Socket made([&] { return accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
      const bool is_full = !made && (errno == EMFILE || errno == ENFILE);
      if (!made && !is_full) return;
      if (is_full && claims_.empty()) return std::this_thread::sleep_for(between_attempts);
      if (is_full || claims_.size() == most) claims_.pop_front();
      if (is_full) continue;
      claims_.emplace_back().socket = std::move(made);
      if (is_settled(claims_.back())) claims_.pop_back();
    }
  }

  // Whether it is a rank's, which has got its socket then, or nobody's.
  bool is_settled(Claim& claim) {
    if (!claim.is_whole()) return claim.is_broken;
    for (Peer& peer : peers_)
      if (peer.rank > rank_ && !peer.socket && claim.said == peer.theirs && peer.hears(claim.socket)) {
        peer.socket = std::move(claim.socket);
        break;
      }
    return true;
  }

  void sleep(const Socket& listener) const {
    std::vector<pollfd> waits{{listener.get(), POLLIN, 0}};
    for (const Claim& claim : claims_) waits.push_back({claim.socket.get(), POLLIN, 0});
    for (const Peer& peer : peers_)
      if (peer.attempt.socket)
        waits.push_back({peer.attempt.socket.get(), static_cast<short>(peer.attempt.has_spoken ? POLLIN : POLLOUT), 0});
    poll(waits.data(), waits.size(), static_cast<int>(between_attempts.count()));
  }

  static constexpr std::chrono::milliseconds between_attempts{20};

  Meeting& meeting_;
  int rank_;
  std::vector<Peer>& peers_;
  std::deque<Claim> claims_;  // the oldest first: it gives way, since a rank speaks at once and tries again
};

// What a rank says of where it listens: "HOST PORT", and for each rank the secret that it says to it.
Peer peer_of(const std::string& text, int rank, int own_rank, const std::string& own_secret) {
  std::istringstream words(text);
  std::string host, port;
  words >> host >> port;
  Peer peer{.rank = rank, .address = address_of(host, port), .own = own_secret};
  for (int to = 0; to <= own_rank; ++to) words >> peer.theirs;
  if (!words || peer.address.length == 0 || peer.theirs.size() != secret_bytes)
    throw TransportError("what rank " + to_string(rank) +
                         " has left in the store is no address with secrets: " + text.substr(0, 60));
  return peer;
}

// Returns when all ranks have come here.
void await_all(Transport& transport, Meeting& meeting, bool asks_store) {
  std::vector<std::pair<int, Request>> messages;
  for (int peer = 0; peer < transport.size(); ++peer) {
    messages.emplace_back(peer, transport.irecv(std::span<std::byte>(), peer, Tag::agreement));
    messages.emplace_back(peer, transport.isend(std::span<std::byte>(), peer, Tag::agreement));
  }
  for (auto& [peer, message] : messages) {
    for (; !transport.test(message); std::this_thread::sleep_for(std::chrono::microseconds(200)))
      if (meeting.is_over(asks_store)) meeting.throw_missing({peer}, "ended connecting");
    transport.wait(message);
  }
}

std::unique_ptr<Transport> connect_ranks(Meeting& meeting, const TcpOptions& options) {
  const std::string own = to_string(options.ranks) + ' ' + host_name() + ' ' + to_string(getpid()) + ' ' +
                          random_secret() + ' ' + own_version();
  const std::vector<int> nodes = nodes_of(meeting.exchange("rank", own));
  const bool one_host = std::count(nodes.begin(), nodes.end(), 0) == options.ranks;
  std::vector<Peer> peers;
  {
    const Listener listener = listen_for_ranks(options.rank, options.interface, one_host);
    std::vector<std::string> secrets;
    std::string told = listener.address.text();
    for (int to = 0; to < options.ranks; ++to) told += ' ' + secrets.emplace_back(random_secret());
    const std::vector<std::string> texts = meeting.exchange("address", told);
    for (std::size_t rank = 0; rank < texts.size(); ++rank)
      peers.push_back(peer_of(texts[rank], static_cast<int>(rank), options.rank, secrets[rank]));
    meeting.begin_step();
    Connecting(meeting, options.rank, peers).run(listener.socket);
  }
  std::vector<Socket> sockets;
  for (Peer& peer : peers) sockets.push_back(std::move(peer.socket));
  auto transport = make_tcp_transport(options.rank, nodes[static_cast<std::size_t>(options.rank)], std::move(sockets));
  await_all(*transport, meeting, true);  // when all are here, nobody needs what the others have given
  meeting.end();
  await_all(*transport, meeting, false);  // the store may end with one of the ranks, as torch's with rank 0
  return transport;
}

}  // namespace

std::unique_ptr<Transport> connect_over_tcp(const Store& store, const TcpOptions& options) {
  Meeting meeting(store, options);
  try {
    return connect_ranks(meeting, options);
  } catch (const std::exception& failure) {
    meeting.fail(failure.what());
    throw;
  }
}

}  // namespace dsop
