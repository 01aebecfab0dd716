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
  using TransportOver::TransportOver;

  void native_allreduce(std::span<std::byte> data, DataType type) override {
    timed([&] { inner().native_allreduce(data, type); });
  }
  void native_allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) override {
    timed([&] { inner().native_allgather(data, bounds_bytes); });
  }
  void native_broadcast(std::span<std::byte> data, int root) override {
    timed([&] { inner().native_broadcast(data, root); });
  }
  void native_reduce(std::span<std::byte> data, DataType type, int root) override {
    timed([&] { inner().native_reduce(data, type, root); });
  }
  void wait(Request& request) override {
    timed([&] { TransportOver::wait(request); });
  }

  /// So far.
  double seconds() const { return seconds_; }

 private:
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

  Request start_send(std::span<const std::byte> data, int to, Tag tag) override {
    return timed([&] { return TransportOver::start_send(data, to, tag); });
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override {
    return timed([&] { return TransportOver::start_receive(data, from, tag); });
  }

  double seconds_ = 0;
};

}  // namespace dsop::bench
