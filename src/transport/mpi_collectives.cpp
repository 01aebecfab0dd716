#include "transport/mpi_collectives.hpp"

#include "transport/mpi_library.hpp"
#include "transport/mpi_pieces.hpp"
#include "transport/mpi_types.hpp"

namespace dsop {

MpiCollectives::MpiCollectives(MPI_Comm communicator, std::size_t largest_piece_bytes)
    : communicator_(communicator),
      largest_piece_bytes_(largest_piece_bytes),
      reduces_in_place_(reduces_in_place(mpi_library())) {
  MPI_Comm_rank(communicator, &rank_);
  sums_have_same_bits = dsop::sums_have_same_bits(mpi_library());
}

// Calls sum(offset, elements, type) for pieces of whole elements.
template <class Sum>
void MpiCollectives::for_summed_pieces(std::size_t bytes, DataType type, Sum sum) {
  const std::size_t whole_elements_bytes =
      std::max(largest_piece_bytes_ / bytes_of(type), std::size_t{1}) * bytes_of(type);
  const MPI_Datatype element = visit(type, []<class T>(T) { return mpi_type<T>(); });
  for_pieces(bytes, whole_elements_bytes,
             [&](std::size_t offset, int count) { sum(offset, count / static_cast<int>(bytes_of(type)), element); });
}

void MpiCollectives::allreduce(std::span<std::byte> data, DataType type) {
  for_summed_pieces(data.size(), type, [&](std::size_t offset, int count, MPI_Datatype element) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, data.data() + offset, count, element, MPI_SUM, communicator_),
              "MPI_Allreduce");
  });
}

// What the root of MPI_Reduce gives.
const void* MpiCollectives::roots_own(const std::byte* data, std::size_t bytes) {
  if (reduces_in_place_ || rank_ == 0) return MPI_IN_PLACE;
  roots_copy_.assign(data, data + bytes);
  return roots_copy_.data();
}

void MpiCollectives::reduce(std::span<std::byte> data, DataType type, int root) {
  for_summed_pieces(data.size(), type, [&](std::size_t offset, int count, MPI_Datatype element) {
    std::byte* const piece = data.data() + offset;
    const void* const own = rank_ == root ? roots_own(piece, static_cast<std::size_t>(count) * bytes_of(type)) : piece;
    check_mpi(MPI_Reduce(own, piece, count, element, MPI_SUM, root, communicator_), "MPI_Reduce");
  });
}

void MpiCollectives::broadcast(std::span<std::byte> data, int root) {
  for_pieces(data.size(), largest_piece_bytes_, [&](std::size_t offset, int count) {
    check_mpi(MPI_Bcast(data.data() + offset, count, MPI_BYTE, root, communicator_), "MPI_Bcast");
  });
}

// In pieces of the whole array, from each of which every rank gives the part that lies in its block.
void MpiCollectives::allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) {
  const std::size_t ranks = bounds_bytes.size() - 1;
  counts_.resize(ranks);
  offsets_.resize(ranks);
  for_pieces(data.size(), largest_piece_bytes_, [&](std::size_t offset, int count) {
    const auto within_piece = [&](std::size_t bound) {
      return static_cast<int>(std::clamp(bound, offset, offset + static_cast<std::size_t>(count)) - offset);
    };
    for (std::size_t r = 0; r < ranks; ++r) {
      offsets_[r] = within_piece(bounds_bytes[r]);
      counts_[r] = within_piece(bounds_bytes[r + 1]) - offsets_[r];
    }
    check_mpi(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data.data() + offset, counts_.data(), offsets_.data(),
                             MPI_BYTE, communicator_),
              "MPI_Allgatherv");
  });
}

}  // namespace dsop
