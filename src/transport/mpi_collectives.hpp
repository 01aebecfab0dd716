// The MPI library's own collectives.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include <dsop/transport.hpp>

namespace dsop {

/// Of a communicator that must outlive it, with at most so many bytes a call.
class MpiCollectives final : public NativeCollectives {
 public:
  MpiCollectives(MPI_Comm communicator, std::size_t largest_piece_bytes);

  void allreduce(std::span<std::byte> data, DataType type) override;
  void allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) override;
  void broadcast(std::span<std::byte> data, int root) override;
  void reduce(std::span<std::byte> data, DataType type, int root) override;

 private:
  template <class Sum>
  void for_summed_pieces(std::size_t bytes, DataType type, Sum sum);
  const void* roots_own(const std::byte* data, std::size_t bytes);

  MPI_Comm communicator_;
  std::size_t largest_piece_bytes_;
  int rank_ = 0;
  bool reduces_in_place_;
  std::vector<int> counts_;  // of allgather(), kept so that it allocates once
  std::vector<int> offsets_;
  std::vector<std::byte> roots_copy_;  // of reduce(), likewise
};

}  // namespace dsop
