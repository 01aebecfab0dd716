#include "c/communicator.hpp"

#include <cctype>

#include <dsop/counting.hpp>
#include <dsop/dsop.hpp>
#include <dsop/stall_watch.hpp>
#include <dsop/threads.hpp>

#include "c/mpi_world.hpp"
#include "c/status.hpp"
#include "call/call.hpp"
#include "call/start_call.hpp"
#include "transport/interrupt.hpp"
#include "transport/launcher.hpp"
#include "transport/lone_rank.hpp"

namespace dsop::c {

void refuse_on_all_ranks(Transport& transport, const std::string& error) {
  make_call(transport, [&] {
    Call call(transport, "a call with wrong arguments", 0, 0, DataType::f32);
    call.check([&] { throw ArgumentError(error); });
    call.agree();
  });
  throw ArgumentError(error);
}

CommunicatorHandle::CommunicatorHandle(std::shared_ptr<CommunicatorHandle> counted)
    : counted_(std::move(counted)), own_(std::make_unique<CountingTransport>(counted_->get())) {
  transport_ = own_.get();
}

// Calls that were started through it are in the queue of the one that it counts, which goes on.
CommunicatorHandle::~CommunicatorHandle() {
  if (!counted_) return;
  const Uninterrupted uninterrupted;
  try {
    get().calls().queue->wait_for_all();
  } catch (const ArgumentError&) {  // the ranks have ended, and so have their calls
  }
}

Transport& CommunicatorHandle::get() const {
  if (is_mpi_ || (own_ && !counted_)) set_waits_end_with_thread(false);  // for ranks that are programs
  if (counted_) counted_->get();
  if (is_mpi_ && !mpi_runs()) throw ArgumentError("MPI is finalized, expected a call before");
  if (!own_ && life_.expired())
    throw ArgumentError(is_mpi_ ? "the MPI communicator was freed, expected a call before"
                                : "the communicator's ranks have ended, expected a call before");
  return *transport_;
}

DataType data_type_of(int type) {
  std::string names;
  for (const DataType each : data_types) {
    if (type == static_cast<int>(each)) return each;
    names += names.empty() ? "DSOP_" : " or DSOP_";
    for (const char letter : name(each)) names += static_cast<char>(std::toupper(letter));
  }
  throw ArgumentError("type is " + std::to_string(type) + ", expected " + names);
}

namespace {

// Never destroyed, as the communicators of MPI: what a program leaves behind at its end must not wait.
Transport& lone_rank() {
  static Transport& never_destroyed = *make_lone_rank().release();
  return never_destroyed;
}

Handle put_transport(Transport& transport, bool is_mpi) {
  return put(std::make_shared<CommunicatorHandle>(transport, is_mpi));
}

CountingTransport& counting_of(Handle communicator) {
  auto* const counting = dynamic_cast<CountingTransport*>(&transport_of(communicator));
  if (counting == nullptr)
    throw ArgumentError("communicator " + std::to_string(communicator) +
                        " does not count, expected one of dsop_communicator_count_traffic()");
  return *counting;
}

}  // namespace
}  // namespace dsop::c

using namespace dsop::c;

int dsop_communicator_world(dsop_communicator* communicator) {
  return returning_status([&] {
    Handle& handle = result(communicator, "communicator");
    dsop::Transport* const mpi = world();
    if (const auto started = mpi == nullptr ? dsop::started_without_mpi() : std::nullopt)
      throw dsop::ArgumentError(started->text() +
                                ", expected mpirun, or a store by which the ranks meet: dsop_communicator_from_file(), "
                                "in Python comm=dsop.connect(store, rank, size)");
    handle = put_transport(mpi != nullptr ? *mpi : lone_rank(), mpi != nullptr);
  });
}

int dsop_communicator_from_mpi(int mpi_fint, dsop_communicator* communicator) {
  return returning_status([&] {
    Handle& handle = result(communicator, "communicator");
    handle = put_transport(transport_of_mpi(mpi_fint), true);
  });
}

int dsop_communicator_count_traffic(dsop_communicator communicator, dsop_communicator* counting) {
  return returning_status([&] {
    Handle& handle = result(counting, "counting");
    handle = put(std::make_shared<CommunicatorHandle>(find<CommunicatorHandle>(communicator)));
  });
}

int dsop_communicator_traffic(dsop_communicator counting, size_t* payload_messages, size_t* payload_bytes,
                              size_t* agreement_messages, size_t* agreement_bytes) {
  return returning_status([&] {
    const dsop::CountingTransport& transport = counting_of(counting);
    put_if_wanted(payload_messages, transport.payload().messages);
    put_if_wanted(payload_bytes, transport.payload().bytes);
    put_if_wanted(agreement_messages, transport.agreement().messages);
    put_if_wanted(agreement_bytes, transport.agreement().bytes);
  });
}

int dsop_communicator_rank(dsop_communicator communicator, int* rank, int* size) {
  return returning_status([&] {
    const dsop::Transport& transport = transport_of(communicator);
    put_if_wanted(rank, transport.rank());
    put_if_wanted(size, transport.size());
  });
}

int dsop_communicator_fail(dsop_communicator communicator, const char* error) {
  return returning_status([&] {
    refuse_on_all_ranks(transport_of(communicator), error == nullptr || *error == 0 ? "the call was given up" : error);
  });
}

int dsop_communicator_free(dsop_communicator communicator) {
  return free_object<CommunicatorHandle>(communicator);
}

int dsop_run_on_threads(int ranks, int (*body)(dsop_communicator, void*), void* data, int omp_threads) {
  return returning_status([&] {
    if (body == nullptr) throw dsop::ArgumentError("body is null, expected a function");
    const auto run_rank = [&](dsop::Transport& transport) {
      const Handle communicator = put_transport(transport, false);
      set_waits_end_with_thread(true);
      const int status = body(communicator, data);
      dsop_communicator_free(communicator);
      if (status != 0)
        throw dsop::Error("rank " + std::to_string(transport.rank()) + "'s body returned status " +
                          std::to_string(status));
    };
    dsop::run_on_threads(ranks, run_rank, omp_threads);
  });
}

int dsop_set_stall_watch(dsop_communicator communicator, double limit_seconds,
                         void (*on_stall)(const char* text, void* data), void* data, int throws) {
  return returning_status([&] {
    dsop::StallWatch watch{.limit_seconds = limit_seconds, .on_stall = {}, .throws = throws != 0};
    if (on_stall != nullptr) watch.on_stall = [=](const dsop::Stall& stall) { on_stall(stall.text().c_str(), data); };
    dsop::set_stall_watch(transport_of(communicator), std::move(watch));
  });
}

int dsop_arrivals(dsop_communicator communicator, int rank, uint64_t* calls, double* last_seconds, double* mean_seconds,
                  uint64_t* came_last) {
  return returning_status([&] {
    dsop::Transport& transport = transport_of(communicator);
    if (rank < 0 || rank >= transport.size())
      throw dsop::ArgumentError("rank is " + std::to_string(rank) + ", expected 0 .. " +
                                std::to_string(transport.size() - 1));
    const dsop::Arrivals arrivals = dsop::arrivals(transport);
    const auto r = static_cast<std::size_t>(rank);
    put_if_wanted(calls, arrivals.calls);
    put_if_wanted(last_seconds, arrivals.last_seconds[r]);
    put_if_wanted(mean_seconds, arrivals.mean_seconds[r]);
    put_if_wanted(came_last, arrivals.came_last[r]);
  });
}
