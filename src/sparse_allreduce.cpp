// The public call.
#include <dsop/sparse_allreduce.hpp>

#include "algorithms/sparse/family.hpp"

namespace dsop {

namespace {

template <class T>
SparseCalls<T>& calls_of(Transport& transport) {
  transport.calls().queue->wait_for_all();
  return kept<SparseCalls<T>>(transport);
}

}  // namespace

template <class T>
SparseSum<T> sparse_allreduce(Communicator communicator, const std::type_identity_t<SparseVectorView<T>>& own,
                              const SparseAllreduceOptions& options) {
  Transport& transport = communicator.transport();
  return calls_of<T>(transport).run(transport, own, options, 1);
}

template <class T>
std::vector<SparseSum<T>> sparse_allreduce_regions(
    Communicator communicator, const std::type_identity_t<std::span<const SparseVectorView<T>>>& regions,
    const SparseAllreduceOptions& options) {
  Transport& transport = communicator.transport();
  SparseCalls<T>& calls = calls_of<T>(transport);
  std::vector<SparseSum<T>> sums;
  sums.reserve(regions.size());
  if (regions.empty()) calls.run(transport, {}, options, 0);  // others may have some, and then all throw
  for (const SparseVectorView<T>& region : regions)
    sums.push_back(calls.run(transport, region, options, regions.size()));
  return sums;
}

#define INSTANTIATE(T)                                                                                             \
  template SparseSum<T> sparse_allreduce(Communicator, const SparseVectorView<T>&, const SparseAllreduceOptions&); \
  template std::vector<SparseSum<T>> sparse_allreduce_regions(                                                     \
      Communicator, const std::span<const SparseVectorView<T>>&, const SparseAllreduceOptions&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
}  // namespace dsop
