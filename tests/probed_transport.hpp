// Ranks as threads whose machine `auto` must measure, by a clock that the test makes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <dsop/counting.hpp>
#include <dsop/threads.hpp>

#include "call/call_state.hpp"
#include "failures.hpp"

namespace dsop::tests {

/// A network of which each message takes `latency` and `bytes` times `a_byte`; all numbers are powers of two, so that
/// sums are exact. After a pause a shaper lets so many bytes through at once.
struct Link {
  double latency = 0;
  double a_byte = 0;
  double burst_bytes = 0;
};

constexpr Link slow{1.0 / (1 << 13), 1.0 / (1 << 24)};    // 122 us, 16.8 MB/s
constexpr Link memory{1.0 / (1 << 17), 1.0 / (1 << 30)};  // 7.6 us, 1 GB/s

inline std::vector<int> nodes_of_one(int ranks) {
  std::vector<int> nodes(static_cast<std::size_t>(ranks));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// What a message takes beside its link, where a transport cuts messages.
struct Cut {
  double a_piece = 0;
  double handshake = 0;  ///< of one that travels whole
};

/// The clock goes by a tick when it is looked at, and by what a message takes when it is sent. Between two looks
/// without one a kernel has run.
class ProbedTransport final : public TransportOver {
 public:
  static constexpr double tick = 1.0 / (1 << 18);
  /// A look at the clock of a probe that comes after those at kernels.
  static constexpr int look_at_messages = 60;

  ProbedTransport(Transport& inner, Link between, Link inside = {}, std::vector<int> nodes = {})
      : TransportOver(inner, probed(inner)), between_(between), inside_(inside), nodes_(std::move(nodes)) {}

  double now_seconds() const override {
    ++looks_;
    if (at_look_) at_look_(looks_);
    if (!has_gone_on_) now_ += kernel_seconds_;
    has_gone_on_ = false;
    return now_ += tick;
  }
  /// On this rank, called with the number of the look at the clock; may set it.
  void at_look(std::function<void(int)> what) { at_look_ = std::move(what); }
  void set_clock(double seconds) const {
    now_ = seconds;
    has_gone_on_ = true;
  }
  double clock() const { return now_; }
  void kernels_take(double seconds) { kernel_seconds_ = seconds; }
  /// Messages are cut from now on, between nodes and inside them.
  void cut(Cut between, Cut inside) {
    cuts_ = true;
    between_cut_ = between;
    inside_cut_ = inside;
  }
  int looks() const { return looks_; }
  const std::set<int>& partners() const { return partners_; }
  /// How many messages of that length went to other ranks of the node.
  std::size_t sent_inside(std::size_t bytes) const { return sent_inside_.count(bytes); }
  /// Whether a long message came from where one of the last 8 MiB had come from, which a cache may hold.
  bool has_sent_again() const { return has_sent_again_; }

 private:
  static Endpoint probed(const Transport& inner) {
    Endpoint endpoint = inner.endpoint();
    TransportKind kind = *endpoint.kind;
    kind.is_probed = true;
    endpoint.kind = std::make_shared<const TransportKind>(std::move(kind));
    return endpoint;
  }

  bool use_pieces(double between_nodes_bytes, double in_node_bytes) override {
    between_piece_bytes_ = between_nodes_bytes;
    inside_piece_bytes_ = in_node_bytes;
    return cuts_;
  }
  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override {
    const auto node_of = [&](int rank) { return nodes_.empty() ? rank : nodes_[static_cast<std::size_t>(rank)]; };
    const bool is_inside = node_of(to) == node_of(rank());
    const Link& link = is_inside ? inside_ : between_;
    const auto bytes = static_cast<double>(data.size());
    now_ += link.latency + std::max(bytes - burst_bytes(link), 0.0) * link.a_byte;
    shaped_until_ += bytes * link.a_byte;
    const Cut& cut = is_inside ? inside_cut_ : between_cut_;
    const bool is_cut = !is_inside || bytes <= 4 * Level().piece_bytes;
    const double piece_bytes = !is_cut ? 0 : is_inside ? inside_piece_bytes_ : between_piece_bytes_;
    if (bytes > (is_inside ? Level().piece_bytes : Machine().piece_bytes))
      now_ += piece_bytes > 0 ? std::ceil(bytes / piece_bytes) * cut.a_piece : cut.handshake;
    has_gone_on_ = true;
    if (tag == Tag::probe) partners_.insert(to);
    if (is_inside) sent_inside_.insert(data.size());
    if (data.size() >= step_bytes[2]) look_for_sent(data);
    return TransportOver::start_send(data, to, tag, length);
  }

  void look_for_sent(std::span<const std::byte> data) {
    constexpr std::size_t cache_bytes = 8 << 20;
    std::size_t bytes = 0;
    for (auto sent = long_messages_.rbegin(); sent != long_messages_.rend() && bytes < cache_bytes; ++sent) {
      has_sent_again_ |= data.data() < sent->data() + sent->size() && sent->data() < data.data() + data.size();
      bytes += sent->size();
    }
    long_messages_.push_back(data);
  }

  // What has not been used up: the link's rate has come to `shaped_until_`.
  double burst_bytes(const Link& link) {
    if (link.burst_bytes == 0) return 0;
    shaped_until_ = std::max(shaped_until_, now_ - link.burst_bytes * link.a_byte);
    return std::max((now_ - shaped_until_) / link.a_byte, 0.0);
  }

  Link between_;
  Link inside_;
  std::vector<int> nodes_;
  bool cuts_ = false;
  Cut between_cut_;
  Cut inside_cut_;
  double between_piece_bytes_ = 0;
  double inside_piece_bytes_ = 0;
  std::function<void(int)> at_look_;
  mutable double now_ = 1 << 10;
  mutable bool has_gone_on_ = true;         // since it was last looked at
  double kernel_seconds_ = 1.0 / (1 << 7);  // more than probe_of_nodes asks for, so that one run is a sample
  double shaped_until_ = 0;
  mutable int looks_ = 0;
  std::set<int> partners_;
  std::multiset<std::size_t> sent_inside_;  // by length
  std::vector<std::span<const std::byte>> long_messages_;
  bool has_sent_again_ = false;
};

using OnProbedRank = std::function<void(ProbedTransport&, Failures&)>;

/// What failed on ranks of which nodes[r] is rank r's node.
inline std::string failures_on_probed(const std::vector<int>& nodes, Link between, Link inside,
                                      const OnProbedRank& body) {
  return failures_on_nodes(nodes, [&](Transport& inner, Failures& failures) {
    ProbedTransport transport(inner, between, inside, nodes);
    body(transport, failures);
  });
}

}  // namespace dsop::tests
