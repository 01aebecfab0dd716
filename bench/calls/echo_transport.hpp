// One rank that plays all the others: they say what it says. What a call plans can so be timed for any number of ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <dsop/transport.hpp>

namespace calls {

/// A receive gets the bytes that this rank last sent with that tag, over and over as far as they are too few, or zeros
/// before any send. Right for exchanges in which all ranks say the same; the sums of a call are of no use.
class EchoTransport final : public dsop::Transport {
 public:
  explicit EchoTransport(int ranks) : Transport({.size = ranks, .kind = std::make_shared<dsop::TransportKind>()}) {}
  ~EchoTransport() override { end_calls(); }

 private:
  struct Receive {
    std::span<std::byte> data;
    dsop::Tag tag;
  };

  dsop::Request start_send(std::span<const std::byte> data, int, dsop::Tag tag, dsop::Length) override {
    if (!data.empty()) sent_[tag].assign(data.begin(), data.end());
    return {};
  }
  dsop::Request start_receive(std::span<std::byte> data, int, dsop::Tag tag, dsop::Length length) override {
    const auto free =
        std::find_if(receives_.begin(), receives_.end(), [](const Receive& r) { return r.data.data() == nullptr; });
    const auto slot = static_cast<std::size_t>(free - receives_.begin());
    if (free == receives_.end()) receives_.emplace_back();
    const bool is_shorter = length == dsop::Length::told && sent_[tag].size() < data.size();
    receives_[slot] = {is_shorter ? data.first(sent_[tag].size()) : data, tag};
    return make_request(slot);
  }
  bool is_done(std::size_t) override { return true; }
  std::size_t finish(std::size_t slot) override {
    const auto [data, tag] = receives_[slot];
    const std::vector<std::byte>& said = sent_[tag];
    for (std::size_t i = 0; i < data.size(); i += std::max<std::size_t>(said.size(), 1)) {
      const std::span<std::byte> part = data.subspan(i);
      if (said.empty())
        part.front() = {};
      else
        std::copy_n(said.begin(), std::min(said.size(), part.size()), part.begin());
    }
    withdraw(slot);
    return data.size();
  }
  void withdraw(std::size_t slot) noexcept override { receives_[slot].data = {}; }

  std::map<dsop::Tag, std::vector<std::byte>> sent_;
  std::vector<Receive> receives_;
};

}  // namespace calls
