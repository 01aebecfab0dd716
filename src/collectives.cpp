// The public calls.
#include <dsop/collectives.hpp>

#include "calls/executors.hpp"

namespace dsop {
namespace {

template <class T>
void run(Transport& transport, Operation operation, std::span<T> data, int root, const CollectiveOptions& options) {
  if constexpr (std::is_same_v<T, float>)
    executors_of(transport).collectives_f32.run(transport, operation, data, root, options);
  else
    executors_of(transport).collectives_f64.run(transport, operation, data, root, options);
}

template <class T>
void run_now(Communicator communicator, Operation operation, std::span<T> data, int root,
             const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  transport.calls().queue->wait_for_all();
  run(transport, operation, data, root, options);
}

template <class T>
Pending start(Communicator communicator, Operation operation, std::span<T> data, int root,
              const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  return Pending(transport.calls().queue->start(
      [&transport, operation, data, root, options] { run(transport, operation, data, root, options); },
      transport.allows_progress_thread()));
}

}  // namespace

template <class T>
void allreduce(Communicator communicator, std::span<T> data, const CollectiveOptions& options) {
  run_now(communicator, Operation::allreduce, data, 0, options);
}

template <class T>
void broadcast(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  run_now(communicator, Operation::broadcast, data, root, options);
}

template <class T>
void reduce(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  run_now(communicator, Operation::reduce, data, root, options);
}

template <class T>
Pending start_allreduce(Communicator communicator, std::span<T> data, const CollectiveOptions& options) {
  return start(communicator, Operation::allreduce, data, 0, options);
}

template <class T>
Pending start_broadcast(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  return start(communicator, Operation::broadcast, data, root, options);
}

template <class T>
Pending start_reduce(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  return start(communicator, Operation::reduce, data, root, options);
}

template void allreduce(Communicator, std::span<float>, const CollectiveOptions&);
template void allreduce(Communicator, std::span<double>, const CollectiveOptions&);
template void broadcast(Communicator, std::span<float>, int, const CollectiveOptions&);
template void broadcast(Communicator, std::span<double>, int, const CollectiveOptions&);
template void reduce(Communicator, std::span<float>, int, const CollectiveOptions&);
template void reduce(Communicator, std::span<double>, int, const CollectiveOptions&);
template Pending start_allreduce(Communicator, std::span<float>, const CollectiveOptions&);
template Pending start_allreduce(Communicator, std::span<double>, const CollectiveOptions&);
template Pending start_broadcast(Communicator, std::span<float>, int, const CollectiveOptions&);
template Pending start_broadcast(Communicator, std::span<double>, int, const CollectiveOptions&);
template Pending start_reduce(Communicator, std::span<float>, int, const CollectiveOptions&);
template Pending start_reduce(Communicator, std::span<double>, int, const CollectiveOptions&);

}  // namespace dsop
