// A program's own policy for a Synchronizer: how a gradient is compressed. Provisional: it sees one parameter at a
// time, and later versions will hand it several at once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <dsop/dsop.hpp>

namespace dsop {

/// Compresses the gradient of one parameter. In each step every rank encodes its own values as one message, gets the
/// messages of all, and adds them up: (P - 1) messages' bytes sent by each rank. What encode() leaves behind is the
/// rank's residual, which is saved, and added to its next gradient. What a compressor keeps beside that is not saved,
/// and stays as it is when a step fails. It runs on the thread that runs calls. Errors that it throws, as
/// std::exception, end the step on all ranks.
template <class T>
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// Of each message, in every step; the same on all ranks.
  virtual std::size_t message_bytes() const = 0;
  /// Writes the message for `values`: the gradient, row by row, times Step::scale, with what stayed behind so far
  /// added. Then takes from `values` what the message stands for, so that the rest stays behind. What `message` holds
  /// before is undefined.
  virtual void encode(std::span<T> values, std::span<std::byte> message) = 0;
  /// Adds to `sum`, of as many elements, what a message stands for. Each rank decodes the messages in the order of
  /// ranks, so that all have the same bits.
  virtual void decode(std::span<const std::byte> message, std::span<T> sum) = 0;
};

/// Makes the compressor of a parameter of that shape. `argument` is what stands behind the colon of the policy's text;
/// empty where there is none. It may throw ArgumentError.
template <class T>
using MakeCompressor = std::function<std::unique_ptr<Compressor<T>>(const Shape& shape, const std::string& argument)>;

/// From now on `name`, or `name:ARGUMENT`, is a policy of every Synchronizer<T> of this process; all ranks must
/// register it. Throws ArgumentError if `name` is a policy's already, is empty or holds a colon. Threads may call it at
/// once.
template <class T>
void register_policy(const std::string& name, MakeCompressor<T> make);

}  // namespace dsop
