// What algorithms see of the network: ranks, and messages between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>

namespace dsop {

class Transport;
struct CallState;

/// What a message belongs to. Messages between two ranks with the same tag arrive in the order sent.
enum class Tag : int { agreement = 1, payload = 2, roll_call = 3, roll_call_answer = 4, probe = 5 };

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

/// One rank's end of a communicator. Calls may come from one thread at a time, and none of them while a call that was
/// started (what returns a Pending, or a synchronizer's step) is not complete. A message of the program's own should be
/// sent and received between two calls: each call may change the pieces of messages. They have any length, also 0; a
/// receive must be given exactly the length that was sent. Failures throw TransportError.
class Transport {
 public:
  Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport();

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The lowest rank that shares this rank's node: its memory, where messages cost least.
  virtual int node() const { return rank(); }
  virtual std::string name() const = 0;
  /// The machine to plan for when the caller describes none, and none was measured.
  virtual Machine default_machine() const = 0;
  /// Whether nobody can know how fast it is: then `auto` measures it first, where the caller describes no machine.
  virtual bool is_probed() const { return false; }
  /// From now on long messages travel in the pieces that the machine tells. All ranks must say it between the same
  /// messages, as calls do once they have agreed. Returns whether this transport cuts messages at all.
  virtual bool use_pieces_of(const Machine&) { return false; }
  /// By the clock that measures it, from some moment that only this rank knows.
  virtual double now_seconds() const;

  template <class T>
  Request isend(std::span<T> data, int to, Tag tag = Tag::payload) {
    return start_send(std::as_bytes(data), to, tag);
  }
  template <class T>
  Request irecv(std::span<T> data, int from, Tag tag = Tag::payload) {
    return start_receive(std::as_writable_bytes(data), from, tag);
  }

  /// Sends one message while receiving another; both are done on return.
  template <class Out, class In>
  void sendrecv(std::span<Out> out, int to, std::span<In> in, int from, Tag tag = Tag::payload) {
    Request receive = irecv(in, from, tag);
    Request send = isend(out, to, tag);
    wait(receive);
    wait(send);
  }
  template <class T>
  void send(std::span<T> data, int to, Tag tag = Tag::payload) {
    Request request = isend(data, to, tag);
    wait(request);
  }
  template <class T>
  void recv(std::span<T> data, int from, Tag tag = Tag::payload) {
    Request request = irecv(data, from, tag);
    wait(request);
  }

  /// Returns when the message has been sent, or received.
  virtual void wait(Request& request);
  /// Whether wait() would return at once. Lets messages progress.
  bool test(Request& request) { return !request.pending() || request.owner_->is_done(request.slot_); }

  /// Whether the MPI library's own MPI_Allreduce, MPI_Allgatherv, MPI_Bcast and MPI_Reduce can be called: baselines
  /// that users compare with.
  virtual bool has_native_collectives() const { return false; }
  /// Whether the sums of MPI_Allreduce and MPI_Reduce are known to have the same bits from call to call. Where they
  /// have not, `auto` never takes them.
  virtual bool native_sums_have_same_bits() const { return false; }
  /// Sums `data` (elements of the given type) over all ranks, in place.
  virtual void native_allreduce(std::span<std::byte> data, DataType type);
  /// Brings rank r's bytes bounds_bytes[r] .. bounds_bytes[r + 1] of `data` to all ranks.
  virtual void native_allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes);
  /// Brings `data` of rank `root` to all ranks.
  virtual void native_broadcast(std::span<std::byte> data, int root);
  /// Sums `data` over all ranks, in place on rank `root`.
  virtual void native_reduce(std::span<std::byte> data, DataType type, int root);

  /// Whether a thread of the library's may make calls while the program's own thread does something else, perhaps with
  /// the same network library.
  virtual bool allows_progress_thread() const { return true; }

  /// What dsop's calls remember between two calls on this communicator; made on first use.
  virtual CallState& calls();

  /// Tells how far this rank has come: a number that never falls, higher by one at each start and end of a call.
  virtual void come_to(std::uint64_t) {}
  /// The other ranks that are not known to have come to `position`. May ask them for up to `seconds`.
  virtual std::vector<int> ranks_behind(std::uint64_t position, double seconds);

 protected:
  /// Completes the calls that were started and ends the progress thread: a destructor's first act, while messages can
  /// still travel.
  void end_calls() noexcept;

  virtual Request start_send(std::span<const std::byte> data, int to, Tag tag) = 0;
  virtual Request start_receive(std::span<std::byte> data, int from, Tag tag) = 0;
  virtual bool is_done(std::size_t slot) = 0;
  virtual void finish(std::size_t slot) = 0;
  virtual void withdraw(std::size_t slot) noexcept = 0;

  Request make_request(std::size_t slot) { return {*this, slot}; }

 private:
  friend class Request;
  friend class TransportOver;
  std::unique_ptr<CallState> calls_;
};

/// What decorators are made of: hands everything on to another transport, which must outlive it. All decorators of one
/// transport share its calls().
class TransportOver : public Transport {
 public:
  explicit TransportOver(Transport& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int node() const override { return inner_.node(); }
  std::string name() const override { return inner_.name(); }
  Machine default_machine() const override { return inner_.default_machine(); }
  bool is_probed() const override { return inner_.is_probed(); }
  bool use_pieces_of(const Machine& machine) override { return inner_.use_pieces_of(machine); }
  double now_seconds() const override { return inner_.now_seconds(); }
  void wait(Request& request) override { inner_.wait(request); }

  bool has_native_collectives() const override { return inner_.has_native_collectives(); }
  bool native_sums_have_same_bits() const override { return inner_.native_sums_have_same_bits(); }
  void native_allreduce(std::span<std::byte> data, DataType type) override { inner_.native_allreduce(data, type); }
  void native_allgather(std::span<std::byte> data, std::span<const std::size_t> bounds_bytes) override {
    inner_.native_allgather(data, bounds_bytes);
  }
  void native_broadcast(std::span<std::byte> data, int root) override { inner_.native_broadcast(data, root); }
  void native_reduce(std::span<std::byte> data, DataType type, int root) override {
    inner_.native_reduce(data, type, root);
  }

  bool allows_progress_thread() const override { return inner_.allows_progress_thread(); }
  CallState& calls() override { return inner_.calls(); }
  void come_to(std::uint64_t position) override { inner_.come_to(position); }
  std::vector<int> ranks_behind(std::uint64_t position, double seconds) override {
    return inner_.ranks_behind(position, seconds);
  }

 protected:
  Transport& inner() { return inner_; }
  const Transport& inner() const { return inner_; }

  Request start_send(std::span<const std::byte> data, int to, Tag tag) override {
    return inner_.start_send(data, to, tag);
  }
  Request start_receive(std::span<std::byte> data, int from, Tag tag) override {
    return inner_.start_receive(data, from, tag);
  }

 private:
  // The requests are the inner transport's, so these are never reached through this one.
  bool is_done(std::size_t) final { return true; }
  void finish(std::size_t) final {}
  void withdraw(std::size_t) noexcept final {}

  Transport& inner_;
};

}  // namespace dsop
