#include <dsop/topk_allreduce.hpp>

#include <variant>

#include "base/each_type.hpp"
#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/status.hpp"
#include "c/sum.hpp"
#include "c/views.hpp"

namespace dsop::c {
namespace {

struct TopKObject : AllreduceObject<TopKAllreduce> {
  std::string state = {};
  std::weak_ptr<Started> started = {};
};

// Throws ArgumentError if it can't run with these values.
void check_run(const TopKObject& object, const void* values, std::size_t count) {
  // A sum's took_part lies in the object until the next run.
  if (!object.started.expired())
    throw ArgumentError("this allreduce was started before, expected dsop_wait() before it runs again");
  if (values == nullptr && count > 0) throw ArgumentError("values is null, expected memory for its elements");
}

}  // namespace

template <>
inline constexpr const char* kind_of<TopKObject> = "top-k allreduce";

}  // namespace dsop::c

using namespace dsop::c;

int dsop_topk_allreduce_create(dsop_communicator communicator, dsop_type type, size_t elements, const char* options,
                               const char* state, dsop_topk_allreduce* allreduce) {
  return returning_status([&] {
    Handle& handle = result(allreduce, "allreduce");
    dsop::Transport& transport = transport_of(communicator);
    auto object = std::make_shared<TopKObject>(TopKObject{{find<CommunicatorHandle>(communicator)}});
    object->error = dsop::error_of([&] {
      const auto with = allreduce_options<dsop::TopKOptions>(options);
      const dsop::TopKState from = state == nullptr ? dsop::TopKState{} : dsop::TopKState::from_text(state);
      dsop::visit(data_type_of(type), [&]<class T>(T) {
        object->allreduce.emplace(dsop::TopKAllreduce<T>(transport, elements, with, from));
      });
    });
    handle = put(std::move(object));
  });
}

int dsop_topk_allreduce_run(dsop_topk_allreduce allreduce, void* values, size_t count, size_t k, dsop_sum* sum) {
  return returning_status([&] {
    const auto object = checked<TopKObject>(allreduce, [&](const TopKObject& of) {
      check_run(of, values, count);
      result(sum, "sum");
    });
    *sum = std::visit(
        [&]<class T>(dsop::TopKAllreduce<T>& of) { return put_sum(of.run(span_of<T>(values, count), k), object); },
        *object->allreduce);
  });
}

int dsop_topk_allreduce_start(dsop_topk_allreduce allreduce, void* values, size_t count, size_t k, dsop_sum* sum,
                              dsop_pending* pending) {
  return returning_status([&] {
    const auto object = checked<TopKObject>(allreduce, [&](const TopKObject& of) {
      check_run(of, values, count);
      result(sum, "sum");
      result(pending, "pending");
    });
    object->started = std::visit(
        [&]<class T>(dsop::TopKAllreduce<T>& of) {
          return start_sum<dsop::TopKSum<T>>(
              *sum, *pending, [&](dsop::TopKSum<T>& made) { return of.start(span_of<T>(values, count), k, made); },
              object);
        },
        *object->allreduce);
  });
}

int dsop_topk_allreduce_state(dsop_topk_allreduce allreduce, const char** state) {
  return returning_status([&] {
    const char*& text = result(state, "state");
    const auto object = find<TopKObject>(allreduce);
    if (!object->error.empty()) throw dsop::ArgumentError(object->error);
    object->state = std::visit([](const auto& of) { return of.state().text(); }, *object->allreduce);
    text = object->state.c_str();
  });
}

int dsop_topk_allreduce_free(dsop_topk_allreduce allreduce) {
  return free_object<TopKObject>(allreduce);
}
