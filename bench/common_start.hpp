// Lets all ranks start at the same moment, though their clocks differ.
#pragma once

#include <dsop/transport.hpp>

namespace dsop::bench {

/// A barrier lets ranks go one after the other, as its messages reach them. Here all agree on a moment a little later,
/// and wait for it by their own clocks, whose offsets from rank 0's were measured once (Hoefler, Schneider and
/// Lumsdaine, "Accurately measuring collective operations at massive scale", 2008).
class CommonStart {
 public:
  /// Measures this rank's offset: the shortest of many round trips to rank 0, half of it each way. All ranks call it.
  explicit CommonStart(Transport& transport);

  /// Returns on all ranks at the same moment. Takes a barrier and a fraction of a millisecond.
  void wait();

  /// This rank's clock minus rank 0's.
  double offset_seconds() const { return offset_seconds_; }

 private:
  Transport& transport_;
  double offset_seconds_ = 0;
};

}  // namespace dsop::bench
