#include <dsop/collectives.hpp>

#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/pending.hpp"
#include "c/status.hpp"
#include "c/views.hpp"

namespace {

using namespace dsop::c;
using dsop::CollectiveOptions;
using dsop::Transport;

// Calls `call` with the communicator's transport, the values and the options, once all ranks know that check() throws
// nothing.
template <class Check, class Call>
int checked_call(dsop_communicator communicator, dsop_type type, void* values, size_t count, const char* options,
                 const Check& check, const Call& call) {
  return returning_status([&] {
    Transport& transport = transport_of(communicator);
    const auto arguments = prepared(transport, [&] {
      check();
      return Arguments<CollectiveOptions>{data_type_of(type), collective_options(options)};
    });
    dsop::visit(arguments.type, [&]<class T>(T) { call(transport, span_of<T>(values, count), arguments.options); });
  });
}

template <class Call>
int run(dsop_communicator communicator, dsop_type type, void* values, size_t count, const char* options,
        const Call& call) {
  return checked_call(
      communicator, type, values, count, options, [] {}, call);
}

template <class Start>
int start(dsop_communicator communicator, dsop_type type, void* values, size_t count, const char* options,
          dsop_pending* pending, const Start& start_call) {
  return checked_call(
      communicator, type, values, count, options, [&] { result(pending, "pending"); },
      [&](Transport& transport, auto data, const CollectiveOptions& with) {
        *pending = put_pending(start_call(transport, data, with));
      });
}

}  // namespace

int dsop_allreduce(dsop_communicator communicator, dsop_type type, void* values, size_t count, const char* options) {
  return run(
      communicator, type, values, count, options,
      [](Transport& transport, auto data, const CollectiveOptions& with) { dsop::allreduce(transport, data, with); });
}

int dsop_broadcast(dsop_communicator communicator, dsop_type type, void* values, size_t count, int root,
                   const char* options) {
  return run(communicator, type, values, count, options,
             [root](Transport& transport, auto data, const CollectiveOptions& with) {
               dsop::broadcast(transport, data, root, with);
             });
}

int dsop_reduce(dsop_communicator communicator, dsop_type type, void* values, size_t count, int root,
                const char* options) {
  return run(communicator, type, values, count, options,
             [root](Transport& transport, auto data, const CollectiveOptions& with) {
               dsop::reduce(transport, data, root, with);
             });
}

int dsop_start_allreduce(dsop_communicator communicator, dsop_type type, void* values, size_t count,
                         const char* options, dsop_pending* pending) {
  return start(communicator, type, values, count, options, pending,
               [](Transport& transport, auto data, const CollectiveOptions& with) {
                 return dsop::start_allreduce(transport, data, with);
               });
}

int dsop_start_broadcast(dsop_communicator communicator, dsop_type type, void* values, size_t count, int root,
                         const char* options, dsop_pending* pending) {
  return start(communicator, type, values, count, options, pending,
               [root](Transport& transport, auto data, const CollectiveOptions& with) {
                 return dsop::start_broadcast(transport, data, root, with);
               });
}

int dsop_start_reduce(dsop_communicator communicator, dsop_type type, void* values, size_t count, int root,
                      const char* options, dsop_pending* pending) {
  return start(communicator, type, values, count, options, pending,
               [root](Transport& transport, auto data, const CollectiveOptions& with) {
                 return dsop::start_reduce(transport, data, root, with);
               });
}

int dsop_wait(dsop_pending pending) {
  return returning_status([&] { take<Started>(pending)->wait(); });
}

int dsop_test(dsop_pending pending, int* complete) {
  return returning_status([&] {
    int& is_complete = result(complete, "complete");
    const auto call = find<Started>(pending);
    is_complete = 1;
    bool done = true;
    try {
      done = call->test();
    } catch (...) {
      take<Started>(pending);
      throw;
    }
    if (done) take<Started>(pending);
    is_complete = done ? 1 : 0;
  });
}
