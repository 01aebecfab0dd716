// All of a transport's messages on one tag.
#pragma once

#include <dsop/transport.hpp>

namespace dsop {

/// Whoever counts messages by their tags sees none of others.
class OnTag final : public TransportOver {
 public:
  OnTag(Transport& inner, Tag tag) : TransportOver(inner), tag_(tag) {}

 private:
  Request start_send(std::span<const std::byte> data, int to, Tag, Length length) override {
    return TransportOver::start_send(data, to, tag_, length);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag, Length length) override {
    return TransportOver::start_receive(data, from, tag_, length);
  }

  Tag tag_;
};

}  // namespace dsop
