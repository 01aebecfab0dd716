#include "transport/gloo_roll_call.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include <dsop/errors.hpp>

#include "transport/look_for_ranks.hpp"

namespace dsop {
namespace {

constexpr std::span<std::byte> question{};

}  // namespace

GlooRollCall::GlooRollCall(Transport& transport) : transport_(transport) {
  for (int rank = 0; rank < transport.size(); ++rank)
    if (rank != transport.rank()) peers_.emplace_back().rank = rank;
}

// A rank that has ended is of no interest to the wait for another one.
template <class Talk>
void GlooRollCall::for_peers(Talk talk) {
  for (Peer& peer : peers_) try {
      if (!peer.is_gone) talk(peer);
    } catch (const TransportError&) {
      peer.is_gone = true;
    }
}

// And, if so, completes it.
bool GlooRollCall::is_over(Request& request) {
  if (!transport_.test(request)) return false;
  transport_.wait(request);
  return true;
}

void GlooRollCall::answer(std::uint64_t position) {
  for_peers([&](Peer& peer) { answer(peer, position); });
}

void GlooRollCall::answer(Peer& peer, std::uint64_t position) {
  const bool was_posted = peer.asks_us.pending();
  if (!is_over(peer.asks_us)) return;
  if (was_posted && is_over(peer.our_answer)) {
    peer.told = position;
    peer.our_answer = transport_.isend(std::span(&peer.told, 1), peer.rank, Tag::roll_call_answer);
  }
  peer.asks_us = transport_.irecv(question, peer.rank, Tag::roll_call);
}

void GlooRollCall::ask(Peer& peer, std::uint64_t position) {
  if (peer.its_answer.pending()) {
    if (!is_over(peer.its_answer)) return;
    peer.position = std::max(peer.position, peer.heard);
  }
  if (peer.position >= position || !is_over(peer.our_question)) return;
  peer.its_answer = transport_.irecv(std::span(&peer.heard, 1), peer.rank, Tag::roll_call_answer);
  peer.our_question = transport_.isend(question, peer.rank, Tag::roll_call);
}

std::vector<int> GlooRollCall::ranks_behind(std::uint64_t position, double seconds) {
  return look_for_ranks(seconds, [&] {
    answer(position);
    for_peers([&](Peer& peer) { ask(peer, position); });
    std::vector<int> behind;
    for (const Peer& peer : peers_)
      if (peer.position < position) behind.push_back(peer.rank);
    return behind;
  });
}

}  // namespace dsop
