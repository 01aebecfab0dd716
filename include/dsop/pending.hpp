// A call that was started: it goes on while the program does something else.
#pragma once

#include <memory>

namespace dsop {

struct StartedCall;

/// What OuterProduct::start, start_allreduce, start_broadcast, start_reduce, start_sparse_allreduce,
/// SparseAllreduce::start and TopKAllreduce::start return. Move-only; handles of one
/// communicator may be waited for in any order; of several, without a progress thread, in the same order on all ranks.
/// Destroying one, or assigning to it, waits too, and loses the call's error. The handle may outlive the layer and the
/// communicator, which both complete what was started when they end.
class Pending {
 public:
  Pending() = default;  ///< of no call: done
  explicit Pending(std::shared_ptr<StartedCall> call);
  Pending(Pending&& other) noexcept;
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  /// Returns when the call is complete, and throws what it threw, once. Without a progress thread (the plan says so),
  /// and on one rank, the call runs here, after all that were started before it on its communicator.
  void wait();

  /// Whether the call is complete, without waiting; throws as wait() does. Where wait() runs the call, this is wait(),
  /// so that a loop on it ends.
  bool test();

 private:
  std::shared_ptr<StartedCall> call_;
};

}  // namespace dsop
