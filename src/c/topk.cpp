#include <dsop/topk_allreduce.hpp>

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
  std::variant<std::monostate, TopKAllreduce<float>, TopKAllreduce<double>> allreduce = {};
  std::string state = {};
};

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
    auto object = std::make_shared<TopKObject>(TopKObject{find<Ranks>(communicator), {}});
    object->error = dsop::error_of([&] {
      const dsop::TopKOptions with = topk_options(options);
      const dsop::TopKState from = state == nullptr ? dsop::TopKState{} : dsop::TopKState::from_text(state);
      dsop::visit(data_type_of(type),
                  [&]<class T>(T) { object->allreduce = dsop::TopKAllreduce<T>(transport, elements, with, from); });
    });
    handle = put(std::move(object));
  });
}

int dsop_topk_allreduce_run(dsop_topk_allreduce allreduce, void* values, size_t count, size_t k, dsop_sum* sum) {
  return returning_status([&] {
    const auto object = find<TopKObject>(allreduce);
    prepared(object->ranks->get(), [&] {
      if (!object->error.empty()) throw dsop::ArgumentError(object->error);
      if (values == nullptr && count > 0) throw dsop::ArgumentError("values is null, expected memory for its elements");
      return &result(sum, "sum");
    });
    std::visit(
        [&]<class Object>(Object& of) {
          if constexpr (!std::is_same_v<Object, std::monostate>)
            *sum = [&]<class T>(dsop::TopKAllreduce<T>& typed) {
              return put(std::make_shared<Sum>(typed.run(span_of<T>(values, count), k)));
            }(of);
        },
        object->allreduce);
  });
}

int dsop_topk_allreduce_state(dsop_topk_allreduce allreduce, const char** state) {
  return returning_status([&] {
    const char*& text = result(state, "state");
    const auto object = find<TopKObject>(allreduce);
    if (!object->error.empty()) throw dsop::ArgumentError(object->error);
    std::visit(
        [&]<class Object>(const Object& of) {
          if constexpr (!std::is_same_v<Object, std::monostate>) object->state = of.state().text();
        },
        object->allreduce);
    text = object->state.c_str();
  });
}

int dsop_topk_allreduce_free(dsop_topk_allreduce allreduce) {
  return freeing(allreduce, [&] { take<TopKObject>(allreduce); });
}
