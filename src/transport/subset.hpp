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
      : TransportOver(inner), rank_(rank), size_(size), rank_of_(std::move(rank_of)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node() const override { return rank_; }
  bool has_native_collectives() const override { return false; }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag) override {
    return TransportOver::start_send(data, rank_of_(to), tag);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override {
    return TransportOver::start_receive(data, rank_of_(from), tag);
  }

  int rank_;
  int size_;
  RankOf rank_of_;
};

}  // namespace dsop
