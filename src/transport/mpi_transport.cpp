#include "transport/mpi_transport.hpp"

#include <algorithm>

#include <dsop/errors.hpp>

namespace dsop {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw TransportError(std::string(call) + " failed: " + text);
}

namespace {

// Calls start(offset, count) for each piece of a message; an empty message is one empty piece.
template <class Start>
void for_pieces(std::size_t bytes, std::size_t largest_piece_bytes, Start start) {
  std::size_t offset = 0;
  do {
    const std::size_t count = std::min(bytes - offset, largest_piece_bytes);
    start(offset, static_cast<int>(count));
    offset += count;
  } while (offset < bytes);
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm communicator, std::size_t largest_piece_bytes)
    : largest_piece_bytes_(largest_piece_bytes) {
  check_mpi(MPI_Comm_dup(communicator, &communicator_), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

MpiTransport::~MpiTransport() {
  MPI_Comm_free(&communicator_);
}

Request MpiTransport::start_send(std::span<const std::byte> data, int to, Tag tag) {
  const std::size_t slot = slots_.take();
  Request request = make_request(slot);
  slots_[slot].clear();
  for_pieces(data.size(), largest_piece_bytes_, [&](std::size_t offset, int count) {
    MPI_Request& piece = slots_[slot].emplace_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(data.data() + offset, count, MPI_BYTE, to, static_cast<int>(tag), communicator_, &piece),
              "MPI_Isend");
  });
  return request;
}

Request MpiTransport::start_receive(std::span<std::byte> data, int from, Tag tag) {
  const std::size_t slot = slots_.take();
  Request request = make_request(slot);
  slots_[slot].clear();
  for_pieces(data.size(), largest_piece_bytes_, [&](std::size_t offset, int count) {
    MPI_Request& piece = slots_[slot].emplace_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Irecv(data.data() + offset, count, MPI_BYTE, from, static_cast<int>(tag), communicator_, &piece),
              "MPI_Irecv");
  });
  return request;
}

void MpiTransport::finish(std::size_t slot) {
  std::vector<MPI_Request>& pieces = slots_[slot];
  const int code = MPI_Waitall(static_cast<int>(pieces.size()), pieces.data(), MPI_STATUSES_IGNORE);
  slots_.give_back(slot);
  check_mpi(code, "MPI_Waitall");
}

void MpiTransport::withdraw(std::size_t slot) noexcept {
  for (MPI_Request& piece : slots_[slot]) {
    if (piece == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&piece);
    MPI_Request_free(&piece);
  }
  slots_.give_back(slot);
}

void MpiTransport::native_allreduce(std::span<std::byte> data, DataType type) {
  const MPI_Datatype element = type == DataType::f32 ? MPI_FLOAT : MPI_DOUBLE;
  const std::size_t piece_bytes = std::max(largest_piece_bytes_ / bytes_of(type), std::size_t{1}) * bytes_of(type);
  for_pieces(data.size(), piece_bytes, [&](std::size_t offset, int count) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, data.data() + offset, count / static_cast<int>(bytes_of(type)), element,
                            MPI_SUM, communicator_),
              "MPI_Allreduce");
  });
}

}  // namespace dsop
