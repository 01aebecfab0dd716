// The public calls.
#include <dsop/collectives.hpp>

#include "algorithms/dense/family.hpp"

namespace dsop {
namespace {

template <class T>
void run_now(Communicator communicator, Collective collective, std::span<T> data, int root,
             const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  transport.calls().queue->wait_for_all();
  calls_of<DenseCalls<T>>(transport).run(transport, collective, data, root, options);
}

template <class T>
Pending start(Communicator communicator, Collective collective, std::span<T> data, int root,
              const CollectiveOptions& options) {
  Transport& transport = communicator.transport();
  return Pending(transport.calls().queue->start(
      [&transport, collective, data, root, options] {
        calls_of<DenseCalls<T>>(transport).run(transport, collective, data, root, options);
      },
      transport.allows_progress_thread()));
}

}  // namespace

template <class T>
void allreduce(Communicator communicator, std::span<T> data, const CollectiveOptions& options) {
  run_now(communicator, Collective::allreduce, data, 0, options);
}

template <class T>
void broadcast(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  run_now(communicator, Collective::broadcast, data, root, options);
}

template <class T>
void reduce(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  run_now(communicator, Collective::reduce, data, root, options);
}

template <class T>
Pending start_allreduce(Communicator communicator, std::span<T> data, const CollectiveOptions& options) {
  return start(communicator, Collective::allreduce, data, 0, options);
}

template <class T>
Pending start_broadcast(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  return start(communicator, Collective::broadcast, data, root, options);
}

template <class T>
Pending start_reduce(Communicator communicator, std::span<T> data, int root, const CollectiveOptions& options) {
  return start(communicator, Collective::reduce, data, root, options);
}

#define INSTANTIATE(T)                                                                         \
  template void allreduce(Communicator, std::span<T>, const CollectiveOptions&);               \
  template void broadcast(Communicator, std::span<T>, int, const CollectiveOptions&);          \
  template void reduce(Communicator, std::span<T>, int, const CollectiveOptions&);             \
  template Pending start_allreduce(Communicator, std::span<T>, const CollectiveOptions&);      \
  template Pending start_broadcast(Communicator, std::span<T>, int, const CollectiveOptions&); \
  template Pending start_reduce(Communicator, std::span<T>, int, const CollectiveOptions&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
}  // namespace dsop
