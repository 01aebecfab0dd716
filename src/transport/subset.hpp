// Some of the ranks of a transport, as if there were no others.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <dsop/transport.hpp>

namespace dsop {

/// Rank i of its `size` ranks is rank rank_of(i) of `inner`, which must outlive it; the calling one is its rank `rank`.
template <class RankOf>
class Subset final : public TransportOver {
 public:
  Subset(Transport& inner, int rank, int size, RankOf rank_of)
      : TransportOver(inner, {.rank = rank, .size = size, .node = rank, .kind = inner.endpoint().kind}),
        rank_of_(std::move(rank_of)) {}

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override {
    return TransportOver::start_send(data, rank_of_(to), tag, length);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag, Length length) override {
    return TransportOver::start_receive(data, rank_of_(from), tag, length);
  }

  RankOf rank_of_;
};

}  // namespace dsop
