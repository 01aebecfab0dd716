#include "transport/mpi_transport.hpp"

#include <algorithm>
#include <array>

#include <dsop/errors.hpp>

#include "transport/call_state.hpp"
#include "transport/mpi_library.hpp"
#include "transport/mpi_types.hpp"

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

MPI_Comm duplicate_of(MPI_Comm communicator) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(communicator, &duplicate), "MPI_Comm_dup");
  return duplicate;
}

int lowest_rank_on_node(MPI_Comm communicator, int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int lowest = rank;
  const int code = MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  check_mpi(code, "MPI_Bcast");
  return lowest;
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm communicator, std::size_t largest_piece_bytes, const std::string& version)
    : communicator_(duplicate_of(communicator)), largest_piece_bytes_(largest_piece_bytes) {
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
  roll_call_.emplace(communicator_);
  struct Introduction {
    int node = 0;
    std::array<char, 60> version{};
  } own{.node = lowest_rank_on_node(communicator_, rank_)};
  version.copy(own.version.data(), own.version.size() - 1);
  std::vector<Introduction> all(static_cast<std::size_t>(size_));
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, communicator_),
            "MPI_Allgather");
  std::vector<std::string> versions;
  for (const Introduction& rank : all) {
    nodes_.push_back(rank.node);
    versions.emplace_back(rank.version.data());
  }
  expect_one_version(versions);
  use_pieces_of(Machine());
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  allows_progress_thread_ = level == MPI_THREAD_MULTIPLE;
  const std::string library = mpi_library();
  native_sums_have_same_bits_ = sums_have_same_bits(library);
  reduces_in_place_ = reduces_in_place(library);
}

MpiTransport::~MpiTransport() {
  end();
}

// MPICH 5 ends the program where a communicator is freed in which messages lie that nobody has received, and a message
// that comes later may be taken for one of the next communicator. A call that has failed leaves some, on other ranks
// too, and so does a stall, of which ranks were asked that have not answered yet. MPI_Finalize frees such a
// communicator.
void MpiTransport::end() noexcept {
  end_calls();
  const bool may_have_messages = !calls().failure.empty() || (roll_call_ && roll_call_->has_open_questions());
  roll_call_.reset();
  if (!may_have_messages && !has_messages()) MPI_Comm_free(&communicator_);
  if (calls().failure.empty()) calls().failure = "MPI is finalized, expected a call before";
}

bool MpiTransport::has_messages() const noexcept {
  int found = 0;
  return communicator_ == MPI_COMM_NULL ||
         MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &found, MPI_STATUS_IGNORE) != MPI_SUCCESS || found != 0;
}

double MpiTransport::now_seconds() const {
  return MPI_Wtime();
}

bool MpiTransport::use_pieces_of(const Machine& machine) {
  const auto longest = [&](double piece_bytes) {
    const bool is_cut = cuts_messages && piece_bytes >= 1 && piece_bytes < static_cast<double>(largest_piece_bytes_);
    return is_cut ? static_cast<std::size_t>(piece_bytes) : largest_piece_bytes_;
  };
  between_nodes_piece_bytes_ = longest(machine.piece_bytes);
  in_node_piece_bytes_ = longest(machine.inner_levels.empty() ? std::min(machine.piece_bytes, Level().piece_bytes)
                                                              : machine.inner_levels[0].piece_bytes);
  return cuts_messages;
}

std::size_t MpiTransport::piece_bytes(int peer, std::size_t bytes) const {
  constexpr std::size_t pieces_in_node = 4;
  const bool on_this_node = nodes_[static_cast<std::size_t>(peer)] == node();
  if (!on_this_node) return between_nodes_piece_bytes_;
  return bytes > pieces_in_node * in_node_piece_bytes_ ? largest_piece_bytes_ : in_node_piece_bytes_;
}

std::size_t MpiTransport::put(bool receives, int peer, std::size_t bytes) {
  const std::size_t slot = slots_.take();
  slots_[slot].pieces.clear();
  slots_[slot].receives = receives;
  slots_[slot].peer = peer;
  slots_[slot].bytes = bytes;
  return slot;
}

Request MpiTransport::start_send(std::span<const std::byte> data, int to, Tag tag) {
  const std::size_t slot = put(false, to, data.size());
  Request request = make_request(slot);
  for_pieces(data.size(), piece_bytes(to, data.size()), [&](std::size_t offset, int count) {
    MPI_Request& piece = slots_[slot].pieces.emplace_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(data.data() + offset, count, MPI_BYTE, to, static_cast<int>(tag), communicator_, &piece),
              "MPI_Isend");
  });
  return request;
}

Request MpiTransport::start_receive(std::span<std::byte> data, int from, Tag tag) {
  const std::size_t slot = put(true, from, data.size());
  Request request = make_request(slot);
  for_pieces(data.size(), piece_bytes(from, data.size()), [&](std::size_t offset, int count) {
    MPI_Request& piece = slots_[slot].pieces.emplace_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Irecv(data.data() + offset, count, MPI_BYTE, from, static_cast<int>(tag), communicator_, &piece),
              "MPI_Irecv");
  });
  return request;
}

void MpiTransport::finish(std::size_t slot) {
  Message& message = slots_[slot];
  message.statuses.resize(message.pieces.size());
  int code = MPI_SUCCESS;
  try {
    code = wait_for_pieces(message);
  } catch (...) {
    withdraw(slot);
    throw;
  }
  if (code == MPI_SUCCESS)
    slots_.give_back(slot);
  else
    withdraw(slot);  // where one piece has failed, others may be under way
  if (code == MPI_ERR_IN_STATUS)
    for (const MPI_Status& status : message.statuses)
      if (status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING)
        check_mpi(status.MPI_ERROR, describe(message).c_str());
  if (code != MPI_SUCCESS) check_mpi(code, describe(message).c_str());
  if (message.receives) check_length(message);
}

std::string MpiTransport::describe(const Message& message) const {
  return std::string(message.receives ? "receiving " : "sending ") + std::to_string(message.bytes) + " bytes on rank " +
         std::to_string(rank_) + (message.receives ? " from rank " : " to rank ") + std::to_string(message.peer);
}

void MpiTransport::check_length(const Message& receive) const {
  std::size_t received_bytes = 0;
  for (const MPI_Status& status : receive.statuses) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    received_bytes += static_cast<std::size_t>(count);
  }
  if (received_bytes != receive.bytes)
    throw TransportError(describe(receive) + ": " + std::to_string(received_bytes) + " bytes came");
}

void MpiTransport::withdraw(std::size_t slot) noexcept {
  for (MPI_Request& piece : slots_[slot].pieces) {
    if (piece == MPI_REQUEST_NULL) continue;
    if (slots_[slot].receives) {
      MPI_Cancel(&piece);
      MPI_Wait(&piece, MPI_STATUS_IGNORE);
    } else {
      MPI_Request_free(&piece);  // MPI libraries can't take a send back, and waiting for it might be for ever
    }
  }
  slots_.give_back(slot);
}

std::vector<int> MpiTransport::ranks_behind(std::uint64_t position, double seconds) {
  return roll_call_->ranks_behind(position, seconds);
}

// Calls sum(offset, elements, type) for pieces of whole elements.
template <class Sum>
void MpiTransport::for_summed_pieces(std::size_t bytes, DataType type, Sum sum) {
  const std::size_t whole_elements_bytes =
      std::max(largest_piece_bytes_ / bytes_of(type), std::size_t{1}) * bytes_of(type);
  const MPI_Datatype element = visit(type, []<class T>(T) { return mpi_type<T>(); });
  for_pieces(bytes, whole_elements_bytes,
             [&](std::size_t offset, int count) { sum(offset, count / static_cast<int>(bytes_of(type)), element); });
}

void MpiTransport::native_allreduce(std::span<std::byte> data, DataType type) {
  for_summed_pieces(data.size(), type, [&](std::size_t offset, int count, MPI_Datatype element) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, data.data() + offset, count, element, MPI_SUM, communicator_),
              "MPI_Allreduce");
  });
}

// What the root of MPI_Reduce gives.
const void* MpiTransport::roots_own(const std::byte* data, std::size_t bytes) {
  if (reduces_in_place_ || rank_ == 0) return MPI_IN_PLACE;
  roots_copy_.assign(data, data + bytes);
  return roots_copy_.data();
}

void MpiTransport::native_reduce(std::span<std::byte> data, DataType type, int root) {
  for_summed_pieces(data.size(), type, [&](std::size_t offset, int count, MPI_Datatype element) {
    std::byte* const piece = data.data() + offset;
    const void* const own = rank_ == root ? roots_own(piece, static_cast<std::size_t>(count) * bytes_of(type)) : piece;
    check_mpi(MPI_Reduce(own, piece, count, element, MPI_SUM, root, communicator_), "MPI_Reduce");
  });
}

void MpiTransport::native_broadcast(std::span<std::byte> data, int root) {
  for_pieces(data.size(), largest_piece_bytes_, [&](std::size_t offset, int count) {
    check_mpi(MPI_Bcast(data.data() + offset, count, MPI_BYTE, root, communicator_), "MPI_Bcast");
  });
}

// In pieces of the whole array, from each of which every rank gives the part that lies in its block.
void MpiTransport::native_allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) {
  const auto ranks = static_cast<std::size_t>(size_);
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
