// What algorithms see of the network: ranks, and messages between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>

namespace dsop {

class Transport;
struct CallState;
struct CarriedCalls;

/// What a message belongs to. Messages between two ranks with the same tag arrive in the order sent.
enum class Tag : int { agreement = 1, payload = 2, roll_call = 3, roll_call_answer = 4, probe = 5 };

/// Whether the receiver of a message knows how long it is. Both ends must say the same.
enum class Length : bool {
  known,  ///< the receive is given exactly the length that is sent
  told    ///< the receive is given room for at most so much, and its wait returns how much came
};

/// A message that is under way, from isend or irecv. Its memory must stay until wait() is done with it. Destroying a
/// pending request withdraws it, except that MPI can't take a send back: there its memory may be read later.
class Request {
 public:
  Request() = default;
  Request(Request&& other) noexcept;
  Request& operator=(Request&& other) noexcept;
  ~Request();

  bool pending() const { return owner_ != nullptr; }

 private:
  friend class Transport;
  Request(Transport& owner, std::size_t slot) : owner_(&owner), slot_(slot) {}

  Transport* owner_ = nullptr;
  std::size_t slot_ = 0;
};

/// What transports of one kind have in common.
struct TransportKind {
  std::string name;
  /// The machine to plan for when the caller describes none, and none was measured.
  Machine default_machine = {};
  /// Whether nobody can know how fast it is: then `auto` measures it first, where the caller describes no machine.
  bool is_probed = false;
  /// Whether a thread of the library's may make calls while the program's own thread does something else, perhaps with
  /// the same network library.
  bool allows_progress_thread = true;
};

/// The MPI library's own collectives: baselines that users compare with.
struct NativeCollectives {
  virtual ~NativeCollectives() = default;
  /// Sums `data` (elements of the given type) over all ranks, in place: MPI_Allreduce.
  virtual void allreduce(std::span<std::byte> data, DataType type) = 0;
  /// Brings rank r's bytes bounds_bytes[r] .. bounds_bytes[r + 1] of `data` to all ranks: MPI_Allgatherv.
  virtual void allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) = 0;
  /// Brings `data` of rank `root` to all ranks: MPI_Bcast.
  virtual void broadcast(std::span<std::byte> data, int root) = 0;
  /// Sums `data` over all ranks, in place on rank `root`: MPI_Reduce.
  virtual void reduce(std::span<std::byte> data, DataType type, int root) = 0;

  /// Whether its sums are known to have the same bits from call to call. Where they have not, `auto` never takes them.
  bool sums_have_same_bits = false;
};

/// Who a rank is, from the making of its transport on.
struct Endpoint {
  int rank = 0;
  int size = 1;
  int node = 0;  ///< the lowest rank that shares this rank's node: its memory, where messages cost least
  std::shared_ptr<const TransportKind> kind = {};
  NativeCollectives* native = nullptr;  ///< null: there are none
};

/// One rank's end of a communicator. Calls may come from one thread at a time, and none of them while a call that was
/// started (what returns a Pending, or a synchronizer's step) is not complete. A message of the program's own should be
/// sent and received between two calls: each call may change the pieces of messages. They have any length, also 0.
/// Failures throw TransportError, and so does a message of another length than its receiver knows, or longer than what
/// it has room for.
class Transport {
 public:
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport();

  const Endpoint& endpoint() const { return endpoint_; }
  int rank() const { return endpoint_.rank; }
  int size() const { return endpoint_.size; }
  int node() const { return endpoint_.node; }
  const std::string& name() const { return endpoint_.kind->name; }
  const Machine& default_machine() const { return endpoint_.kind->default_machine; }
  bool is_probed() const { return endpoint_.kind->is_probed; }
  bool allows_progress_thread() const { return endpoint_.kind->allows_progress_thread; }
  bool has_native_collectives() const { return endpoint_.native != nullptr; }
  bool native_sums_have_same_bits() const { return has_native_collectives() && endpoint_.native->sums_have_same_bits; }
  /// Where there are any.
  NativeCollectives& native() const { return *endpoint_.native; }

  /// From now on long messages travel in the pieces that the machine tells. All ranks must say it between the same
  /// messages, as calls do once they have agreed. Returns whether this transport cuts messages at all.
  bool use_pieces_of(const Machine& machine);
  /// By the clock that measures it, from some moment that only this rank knows.
  virtual double now_seconds() const;

  template <class T>
  Request isend(std::span<T> data, int to, Tag tag = Tag::payload, Length length = Length::known) {
    return start_send(std::as_bytes(data), to, tag, length);
  }
  template <class T>
  Request irecv(std::span<T> data, int from, Tag tag = Tag::payload, Length length = Length::known) {
    return start_receive(std::as_writable_bytes(data), from, tag, length);
  }

  /// Sends one message while receiving another; both are done on return. Returns the bytes that came.
  template <class Out, class In>
  std::size_t sendrecv(std::span<Out> out, int to, std::span<In> in, int from, Tag tag = Tag::payload,
                       Length length = Length::known) {
    Request receive = irecv(in, from, tag, length);
    Request send = isend(out, to, tag, length);
    const std::size_t bytes = wait(receive);
    wait(send);
    return bytes;
  }
  template <class T>
  void send(std::span<T> data, int to, Tag tag = Tag::payload, Length length = Length::known) {
    Request request = isend(data, to, tag, length);
    wait(request);
  }
  /// Returns the bytes that came.
  template <class T>
  std::size_t recv(std::span<T> data, int from, Tag tag = Tag::payload, Length length = Length::known) {
    Request request = irecv(data, from, tag, length);
    return wait(request);
  }

  /// Returns when the message has been sent, or received, and how many bytes it has: 0 where no request is pending.
  virtual std::size_t wait(Request& request);
  /// Whether wait() would return at once. Lets messages progress.
  bool test(Request& request) { return !request.pending() || request.owner_->is_done(request.slot_); }

  /// What dsop's calls remember between two calls on this communicator; made on first use.
  CallState& calls();
  /// What of it transports look at.
  CarriedCalls& carried();

  /// Tells how far this rank has come: a number that never falls, higher by one at each start and end of a call.
  virtual void come_to(std::uint64_t) {}
  /// The other ranks that are not known to have come to `position`. May ask them for up to `seconds`.
  virtual std::vector<int> ranks_behind(std::uint64_t position, double seconds);

 protected:
  explicit Transport(Endpoint endpoint);
  /// Completes the calls that were started and ends the progress thread: a destructor's first act, while messages can
  /// still travel.
  void end_calls() noexcept;

  virtual Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) = 0;
  virtual Request start_receive(std::span<std::byte> data, int from, Tag tag, Length length) = 0;
  virtual bool is_done(std::size_t slot) = 0;
  /// Returns the bytes that came, or were sent.
  virtual std::size_t finish(std::size_t slot) = 0;
  virtual void withdraw(std::size_t slot) noexcept = 0;
  /// Of at most so many bytes each, below 1: whole.
  virtual bool use_pieces(double /*between_nodes_bytes*/, double /*in_node_bytes*/) { return false; }

  Request make_request(std::size_t slot) { return {*this, slot}; }

 private:
  friend class Request;
  friend class TransportOver;
  Transport(Transport& inner, Endpoint endpoint);

  Endpoint endpoint_;
  Transport* root_ = this;  // or the one that all decorators of one hand on to
  std::shared_ptr<CarriedCalls> carried_;
};

/// What decorators are made of: hands everything on to another transport, which must outlive it. All decorators of one
/// transport share its calls().
class TransportOver : public Transport {
 public:
  explicit TransportOver(Transport& inner) : TransportOver(inner, inner.endpoint()) {}
  /// As another than the inner one is.
  TransportOver(Transport& inner, Endpoint endpoint) : Transport(inner, std::move(endpoint)), inner_(inner) {}

  double now_seconds() const override { return inner_.now_seconds(); }
  std::size_t wait(Request& request) override { return inner_.wait(request); }
  void come_to(std::uint64_t position) override { inner_.come_to(position); }
  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override {
    return inner_.ranks_behind(position, seconds);
  }

 protected:
  Transport& inner() { return inner_; }

  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override {
    return inner_.start_send(data, to, tag, length);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag, Length length) override {
    return inner_.start_receive(data, from, tag, length);
  }
  bool use_pieces(double between_nodes_bytes, double in_node_bytes) override {
    return inner_.use_pieces(between_nodes_bytes, in_node_bytes);
  }
  // Requests are the inner transport's, unless a decorator makes its own.
  bool is_done(std::size_t) override { return true; }
  std::size_t finish(std::size_t) override { return 0; }
  void withdraw(std::size_t) noexcept override {}

 private:
  Transport& inner_;
};

}  // namespace dsop
