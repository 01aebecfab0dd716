// Some of the ranks of a transport, as if there were no others.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <dsop/transport.hpp>

namespace dsop {

/// Rank i of its `size` ranks is rank rank_of(i) of `inner`, which must outlive it; the calling one is its rank `rank`.
template <class RankOf>
class Subset final : public Transport {
 public:
  Subset(Transport& inner, int rank, int size, RankOf rank_of)
      : inner_(inner), rank_(rank), size_(size), rank_of_(std::move(rank_of)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return inner_.name(); }
  Machine default_machine() const override { return inner_.default_machine(); }
  void wait(Request& request) override { inner_.wait(request); }

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag tag) override {
    return start_send_on(inner_, data, rank_of_(to), tag);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override {
    return start_receive_on(inner_, data, rank_of_(from), tag);
  }
  // The requests are the inner transport's, so these are never reached through this one.
  bool is_done(std::size_t) override { return true; }
  void finish(std::size_t) override {}
  void withdraw(std::size_t) noexcept override {}

  Transport& inner_;
  int rank_;
  int size_;
  RankOf rank_of_;
};

}  // namespace dsop
