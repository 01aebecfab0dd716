#include "transport/mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <dsop/errors.hpp>

#include "transport/carried_calls.hpp"

namespace dsop {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw TransportError(std::string(call) + " failed: " + text);
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
  const bool may_have_messages = !carried().failure.empty() || roll_call_.has_open_questions();
  give_up_answers();
  if (!may_have_messages && !has_messages()) MPI_Comm_free(&communicator_);
  if (carried().failure.empty()) carried().failure = "MPI is finalized, expected a call before";
}

bool MpiTransport::has_messages() const noexcept {
  int found = 0;
  return communicator_ == MPI_COMM_NULL ||
         MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &found, MPI_STATUS_IGNORE) != MPI_SUCCESS || found != 0;
}

double MpiTransport::now_seconds() const {
  return MPI_Wtime();
}

bool MpiTransport::use_pieces(double between_nodes_bytes, double in_node_bytes) {
  const auto longest = [&](double piece_bytes) {
    const bool is_cut = cuts_messages && piece_bytes >= 1 && piece_bytes < static_cast<double>(largest_piece_bytes_);
    return is_cut ? static_cast<std::size_t>(piece_bytes) : largest_piece_bytes_;
  };
  between_nodes_piece_bytes_ = longest(between_nodes_bytes);
  in_node_piece_bytes_ = longest(in_node_bytes);
  return cuts_messages;
}

std::size_t MpiTransport::piece_bytes(int peer, std::size_t bytes) const {
  constexpr std::size_t pieces_in_node = 4;
  if (!is_on_this_node(peer)) return between_nodes_piece_bytes_;
  return bytes > pieces_in_node * in_node_piece_bytes_ ? largest_piece_bytes_ : in_node_piece_bytes_;
}

std::size_t MpiTransport::first_piece_bytes(int peer) const {
  return std::max(is_on_this_node(peer) ? in_node_piece_bytes_ : between_nodes_piece_bytes_, 2 * sizeof(Rest));
}

// Where it throws, the request is withdrawn.
std::size_t MpiTransport::put(bool receives, int peer, std::span<std::byte> data) {
  const std::size_t slot = slots_.take();
  Message& message = slots_[slot];
  message.pieces.clear();
  message = {.pieces = std::move(message.pieces),
             .statuses = std::move(message.statuses),
             .receives = receives,
             .peer = peer,
             .bytes = data.size(),
             .data = data.data()};
  return slot;
}

Request MpiTransport::start_send(std::span<const std::byte> data, int to, Tag tag, Length length) {
  const std::span<std::byte> all(const_cast<std::byte*>(data.data()), data.size());  // which is read alone
  const std::size_t slot = put(false, to, all);
  Request request = make_request(slot);
  const bool is_told = length == Length::told;
  if (is_told && data.size() >= first_piece_bytes(to))
    send_told(slots_[slot], all, static_cast<int>(tag));
  else
    start_pieces(slots_[slot], all, is_told ? all.size() : piece_bytes(to, all.size()), static_cast<int>(tag));
  return request;
}

void MpiTransport::start_pieces(Message& message, std::span<std::byte> data, std::size_t most_bytes, int tag) {
  for_pieces(data.size(), most_bytes, [&](std::size_t offset, int count) {
    std::byte* const first = data.data() + offset;
    MPI_Request& piece = message.pieces.emplace_back(MPI_REQUEST_NULL);
    if (message.receives)
      check_mpi(MPI_Irecv(first, count, MPI_BYTE, message.peer, tag, communicator_, &piece), "MPI_Irecv");
    else
      check_mpi(MPI_Isend(first, count, MPI_BYTE, message.peer, tag, communicator_, &piece), "MPI_Isend");
  });
}

// The first piece has two parts, which lie apart.
void MpiTransport::send_told(Message& message, std::span<std::byte> data, int tag) {
  constexpr std::uint64_t first_tag = 1024;
  constexpr std::uint64_t tags = 16384;
  const std::span<std::byte> first = data.first(first_piece_bytes(message.peer) - sizeof(Rest));
  const std::span<std::byte> rest = data.subspan(first.size());
  message.rest = {.bytes = rest.size(), .tag = first_tag + rests_++ % tags};
  const std::array lengths{static_cast<int>(first.size()), static_cast<int>(sizeof(Rest))};
  std::array<MPI_Aint, 2> places{};
  MPI_Get_address(first.data(), &places[0]);
  MPI_Get_address(&message.rest, &places[1]);
  MPI_Datatype parts = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_hindexed(2, lengths.data(), places.data(), MPI_BYTE, &parts), "MPI_Type_create_hindexed");
  MPI_Type_commit(&parts);
  MPI_Request& piece = message.pieces.emplace_back(MPI_REQUEST_NULL);
  const int code = MPI_Isend(MPI_BOTTOM, 1, parts, message.peer, tag, communicator_, &piece);
  MPI_Type_free(&parts);  // once the message is sent
  check_mpi(code, "MPI_Isend");
  start_pieces(message, rest, piece_bytes(message.peer, rest.size()), static_cast<int>(message.rest.tag));
}

Request MpiTransport::start_receive(std::span<std::byte> data, int from, Tag tag, Length length) {
  const std::size_t slot = put(true, from, data);
  Request request = make_request(slot);
  Message& message = slots_[slot];
  message.awaits_rest = length == Length::told;
  const std::span<std::byte> first =
      message.awaits_rest ? data.first(std::min(data.size(), first_piece_bytes(from))) : data;
  start_pieces(message, first, message.awaits_rest ? data.size() : piece_bytes(from, data.size()),
               static_cast<int>(tag));
  return request;
}

void MpiTransport::receive_rest(Message& message) {
  int first_bytes = 0;
  MPI_Get_count(&message.statuses[0], MPI_BYTE, &first_bytes);
  check_mpi(MPI_Wait(&message.pieces[0], MPI_STATUS_IGNORE), "MPI_Wait");  // it has come
  message.awaits_rest = false;
  message.pieces.clear();
  const std::span<std::byte> room(message.data, message.bytes);
  message.bytes = message.begun_bytes = static_cast<std::size_t>(first_bytes);
  if (message.bytes < first_piece_bytes(message.peer)) return;
  Rest rest;
  message.begun_bytes -= sizeof rest;
  std::memcpy(&rest, message.data + message.begun_bytes, sizeof rest);
  message.bytes = message.begun_bytes + rest.bytes;
  if (message.bytes > room.size())
    throw TransportError(describe(message) + ": there is room for " + std::to_string(room.size()));
  start_pieces(message, room.subspan(message.begun_bytes, rest.bytes), piece_bytes(message.peer, rest.bytes),
               static_cast<int>(rest.tag));
}

bool MpiTransport::is_done(std::size_t slot) {
  Message& message = slots_[slot];
  if (!pieces_are_done(message)) return false;
  if (!message.awaits_rest) return true;
  receive_rest(message);
  return pieces_are_done(message);
}

std::size_t MpiTransport::finish(std::size_t slot) {
  Message& message = slots_[slot];
  int code = MPI_SUCCESS;
  try {
    code = wait_for_pieces(message);
    if (code == MPI_SUCCESS && message.awaits_rest) {
      receive_rest(message);
      code = wait_for_pieces(message);
    }
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
  return message.bytes;
}

std::string MpiTransport::describe(const Message& message) const {
  return std::string(message.receives ? "receiving " : "sending ") + (message.awaits_rest ? "at most " : "") +
         std::to_string(message.bytes) + " bytes on rank " + std::to_string(rank()) +
         (message.receives ? " from rank " : " to rank ") + std::to_string(message.peer);
}

void MpiTransport::check_length(const Message& receive) const {
  std::size_t received_bytes = 0;
  for (const MPI_Status& status : receive.statuses) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    received_bytes += static_cast<std::size_t>(count);
  }
  if (receive.begun_bytes + received_bytes != receive.bytes)
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

}  // namespace dsop
