// A transport that tells how long its rank spends in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <dsop/transport.hpp>

#include "clock.hpp"

namespace dsop::bench {

/// Hands everything on to another transport, which must outlive it, and sums the seconds that its rank spends in
/// starting messages, in waiting for them and in native collectives: by MPI, the time in MPI. A test() of a message is
/// not in it. Costs two looks at the clock for each.
class TimeInTransport final : public TransportOver {
 public:
  explicit TimeInTransport(Transport& inner) : TimeInTransport(inner, inner.endpoint()) {}

  std::size_t wait(Request& request) override {
    return timed([&] { return TransportOver::wait(request); });
  }

  /// So far.
  double seconds() const { return seconds_; }

 private:
  class Collectives final : public NativeCollectives {
   public:
    Collectives(TimeInTransport& transport, NativeCollectives* inner) : transport_(transport), inner_(inner) {
      sums_have_same_bits = inner != nullptr && inner->sums_have_same_bits;
    }
    void allreduce(std::span<std::byte> data, DataType type) override {
      transport_.timed([&] { inner_->allreduce(data, type); });
    }
    void allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) override {
      transport_.timed([&] { inner_->allgather(data, bounds_bytes); });
    }
    void broadcast(std::span<std::byte> data, int root) override {
      transport_.timed([&] { inner_->broadcast(data, root); });
    }
    void reduce(std::span<std::byte> data, DataType type, int root) override {
      transport_.timed([&] { inner_->reduce(data, type, root); });
    }

   private:
    TimeInTransport& transport_;
    NativeCollectives* inner_;
  };

  TimeInTransport(Transport& inner, Endpoint endpoint)
      : TransportOver(inner, with(endpoint, endpoint.native != nullptr ? &collectives_ : nullptr)),
        collectives_(*this, endpoint.native) {}
  static Endpoint with(Endpoint endpoint, NativeCollectives* native) {
    endpoint.native = native;
    return endpoint;
  }

  template <class Body>
  std::invoke_result_t<Body> timed(Body body) {
    struct Stretch {
      double& seconds;
      double start = bench::now_seconds();
      ~Stretch() { seconds += bench::now_seconds() - start; }
    };
    const Stretch stretch{seconds_};
    return body();
  }

  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override {
    return timed([&] { return TransportOver::start_send(data, to, tag, length); });
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag, Length length) override {
    return timed([&] { return TransportOver::start_receive(data, from, tag, length); });
  }

  Collectives collectives_;
  double seconds_ = 0;
};

}  // namespace dsop::bench
