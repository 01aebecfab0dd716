#include <dsop/selection.hpp>

#include <utility>
#include <variant>

#include "base/each_type.hpp"
#include "c/communicator.hpp"
#include "c/status.hpp"
#include "c/views.hpp"

namespace dsop::c {
namespace {

struct AnySelector {
  AnyType<Selector> of_type;
  Selection last;
};

}  // namespace

template <>
inline constexpr const char* kind_of<AnySelector> = "selector";

}  // namespace dsop::c

using namespace dsop::c;

int dsop_selector_create(dsop_type type, const char* algorithm, uint64_t step, uint64_t seed, double threshold,
                         dsop_selector* selector) {
  return returning_status([&] {
    Handle& handle = result(selector, "selector");
    handle = dsop::visit(data_type_of(type), [&]<class T>(T) {
      AnySelector made{dsop::Selector<T>(algorithm == nullptr ? "exact" : algorithm, {step, seed, threshold}), {}};
      return put(std::make_shared<AnySelector>(std::move(made)));
    });
  });
}

int dsop_selector_select(dsop_selector selector, const void* values, size_t count, size_t k, uint32_t* indices,
                         void* chosen_values, size_t room, size_t* chosen, double* threshold, size_t* nans,
                         size_t* infinities) {
  return returning_status([&] {
    size_t& number = result(chosen, "chosen");
    if (values == nullptr) throw dsop::ArgumentError("values is null, expected memory for its elements");
    if (room > 0 && (indices == nullptr || chosen_values == nullptr))
      throw dsop::ArgumentError("indices or chosen_values is null, expected memory for " + std::to_string(room));
    const auto found = find<AnySelector>(selector);
    const dsop::Selection selection = std::visit(
        [&]<class T>(dsop::Selector<T>& of) {
          return of.select({static_cast<const T*>(values), count}, k, {indices, room}, span_of<T>(chosen_values, room));
        },
        found->of_type);
    found->last = selection;
    number = selection.chosen;
    put_if_wanted(threshold, selection.threshold);
    put_if_wanted(nans, selection.nans);
    put_if_wanted(infinities, selection.infinities);
  });
}

int dsop_selector_last(dsop_selector selector, int* evaluated, size_t* predicted) {
  return returning_status([&] {
    const dsop::Selection last = find<AnySelector>(selector)->last;
    put_if_wanted(evaluated, static_cast<int>(last.evaluated));
    put_if_wanted(predicted, last.predicted);
  });
}

int dsop_selector_state(dsop_selector selector, uint64_t* step, uint64_t* seed, double* threshold) {
  return returning_status([&] {
    const dsop::SelectionState state =
        std::visit([](const auto& of) { return of.state(); }, find<AnySelector>(selector)->of_type);
    put_if_wanted(step, state.step);
    put_if_wanted(seed, state.seed);
    put_if_wanted(threshold, state.threshold);
  });
}

int dsop_selector_free(dsop_selector selector) {
  return free_object<AnySelector>(selector, false);
}
