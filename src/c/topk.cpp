#include <dsop/topk_allreduce.hpp>

#include <optional>
#include <utility>
#include <variant>

#include "base/each_type.hpp"
#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/status.hpp"
#include "c/sum.hpp"
#include "c/views.hpp"

namespace dsop::c {
namespace {

// As a sparse allreduce: what is wrong is said by the first run, to all ranks.
struct TopKObject {
  std::shared_ptr<Ranks> ranks;
  std::string error;
  std::optional<AnyType<TopKAllreduce>> allreduce = {};
  std::string state = {};
  std::weak_ptr<Started> started = {};
};

struct Values {
  void* address;
  std::size_t count;
};

}  // namespace

template <>
inline constexpr const char* kind_of<TopKObject> = "top-k allreduce";

namespace {

// Returns the object once all ranks know that it, the values and where results go are right.
template <class... Results>
std::shared_ptr<TopKObject> checked(Handle allreduce, const Values& values, const Results&... results) {
  auto object = find<TopKObject>(allreduce);
  prepared(object->ranks->get(), [&] {
    if (!object->error.empty()) throw ArgumentError(object->error);
    // A sum's took_part lies in the object until the next run.
    if (!object->started.expired())
      throw ArgumentError("this allreduce was started before, expected dsop_wait() before it runs again");
    if (values.address == nullptr && values.count > 0)
      throw ArgumentError("values is null, expected memory for its elements");
    (result(results.first, results.second), ...);
    return true;
  });
  return object;
}

}  // namespace
}  // namespace dsop::c

using namespace dsop::c;

int dsop_topk_allreduce_create(dsop_communicator communicator, dsop_type type, size_t elements, const char* options,
                               const char* state, dsop_topk_allreduce* allreduce) {
  return returning_status([&] {
    Handle& handle = result(allreduce, "allreduce");
    dsop::Transport& transport = transport_of(communicator);
    auto object = std::make_shared<TopKObject>(TopKObject{find<Ranks>(communicator), {}});
    object->error = dsop::error_of([&] {
      const dsop::TopKOptions with = topk_options(options);
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
    const auto object = checked(allreduce, Values{values, count}, std::pair(sum, "sum"));
    *sum = std::visit(
        [&]<class T>(dsop::TopKAllreduce<T>& of) { return put_sum(of.run(span_of<T>(values, count), k), object); },
        *object->allreduce);
  });
}

int dsop_topk_allreduce_start(dsop_topk_allreduce allreduce, void* values, size_t count, size_t k, dsop_sum* sum,
                              dsop_pending* pending) {
  return returning_status([&] {
    const auto object = checked(allreduce, Values{values, count}, std::pair(sum, "sum"), std::pair(pending, "pending"));
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
  return freeing(allreduce, [&] { take<TopKObject>(allreduce); });
}
