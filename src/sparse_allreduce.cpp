// The public call.
#include <dsop/sparse_allreduce.hpp>

#include "planning/call_state.hpp"

namespace dsop {

template <class T>
SparseSum<T> sparse_allreduce(Communicator communicator, const std::type_identity_t<SparseVectorView<T>>& own,
                              const SparseAllreduceOptions& options) {
  CallState& calls = communicator.transport().calls();
  calls.queue->wait_for_all();
  if constexpr (std::is_same_v<T, float>)
    return calls.sparse_f32.run(communicator.transport(), own, options);
  else
    return calls.sparse_f64.run(communicator.transport(), own, options);
}

template SparseSum<float> sparse_allreduce(Communicator, const SparseVectorView<float>&, const SparseAllreduceOptions&);
template SparseSum<double> sparse_allreduce(Communicator, const SparseVectorView<double>&,
                                            const SparseAllreduceOptions&);

}  // namespace dsop
