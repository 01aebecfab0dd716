#include <sstream>
#include <variant>

#include <dsop/synchronizer.hpp>

#include "base/each_type.hpp"
#include "c/communicator.hpp"
#include "c/options.hpp"
#include "c/status.hpp"
#include "c/views.hpp"
#include "synchronizer/policy.hpp"

namespace dsop::c {
namespace {

struct SynchronizerObject {
  std::shared_ptr<CommunicatorHandle> ranks;
  AnyType<Synchronizer> of_type;
  std::string description = {};
  std::string algorithm = {};
  std::string saved = {};
};

// Calls body(synchronizer) with that of its type. Throws ArgumentError if its ranks have ended.
template <class Body>
decltype(auto) with_synchronizer(Handle handle, const Body& body) {
  return with_typed(*find<SynchronizerObject>(handle), body);
}

// A missing name is the name of no parameter, a missing policy none.
std::string text_of(const char* text) {
  return text == nullptr ? "" : text;
}

}  // namespace

template <>
inline constexpr const char* kind_of<SynchronizerObject> = "synchronizer";

}  // namespace dsop::c

using namespace dsop::c;

int dsop_synchronizer_create(dsop_communicator communicator, dsop_type type, const char* options,
                             dsop_synchronizer* synchronizer) {
  return returning_status([&] {
    dsop::Transport& transport = transport_of(communicator);
    const dsop::SynchronizerOptions with = prepared(transport, [&] {
      result(synchronizer, "synchronizer");
      data_type_of(type);
      return synchronizer_options(options);
    });
    *synchronizer = dsop::visit(data_type_of(type), [&]<class T>(T) {
      return put(std::make_shared<SynchronizerObject>(
          SynchronizerObject{find<CommunicatorHandle>(communicator), dsop::Synchronizer<T>(transport, with)}));
    });
  });
}

int dsop_synchronizer_add(dsop_synchronizer synchronizer, const char* name, size_t rows, size_t columns,
                          size_t max_pairs, const char* policy, const char* options) {
  return returning_status([&] {
    const ParameterOptions with = prepared(find<SynchronizerObject>(synchronizer)->ranks->get(), [&] {
      return parameter_options({.rows = rows, .columns = columns, .max_pairs = max_pairs}, options);
    });
    with_synchronizer(synchronizer,
                      [&](auto& of) { of.add(text_of(name), with.shape, text_of(policy), with.bias_of); });
  });
}

int dsop_synchronizer_set_policy(dsop_synchronizer synchronizer, const char* name, const char* policy) {
  return returning_status(
      [&] { with_synchronizer(synchronizer, [&](auto& of) { of.set_policy(text_of(name), text_of(policy)); }); });
}

int dsop_policy_selects(const char* policy, int* selects) {
  return returning_status([&] {
    const dsop::synchronizer::PolicyText text(text_of(policy));
    result(selects, "selects") = dsop::synchronizer::policy_kind(text).selects ? 1 : 0;
  });
}

int dsop_synchronizer_begin(dsop_synchronizer synchronizer, double scale, double learning_rate) {
  return returning_status([&] {
    with_synchronizer(synchronizer, [&](auto& of) { of.begin({.scale = scale, .learning_rate = learning_rate}); });
  });
}

int dsop_synchronizer_give_factors(dsop_synchronizer synchronizer, const char* name, const dsop_factor* a,
                                   const dsop_factor* b, const dsop_matrix* target, double alpha, double beta) {
  return returning_status([&] {
    with_synchronizer(synchronizer, [&]<class T>(dsop::Synchronizer<T>& of) {
      of.give(text_of(name), factors_of<T>(a, b), view_of<T>(target), {.alpha = alpha, .beta = beta});
    });
  });
}

int dsop_synchronizer_give_gradient(dsop_synchronizer synchronizer, const char* name, const dsop_matrix* gradient) {
  return returning_status([&] {
    with_synchronizer(synchronizer,
                      [&]<class T>(dsop::Synchronizer<T>& of) { of.give(text_of(name), view_of<T>(gradient)); });
  });
}

int dsop_synchronizer_give_vector(dsop_synchronizer synchronizer, const char* name, const dsop_vector* own,
                                  const dsop_matrix* target, double alpha, double beta) {
  return returning_status([&] {
    with_synchronizer(synchronizer, [&]<class T>(dsop::Synchronizer<T>& of) {
      of.give(text_of(name), view_of<T>(own), view_of<T>(target), {.alpha = alpha, .beta = beta});
    });
  });
}

int dsop_synchronizer_fail(dsop_synchronizer synchronizer, const char* name, const char* error) {
  return returning_status(
      [&] { with_synchronizer(synchronizer, [&](auto& of) { of.fail(text_of(name), text_of(error)); }); });
}

int dsop_synchronizer_finish(dsop_synchronizer synchronizer) {
  return returning_status([&] { with_synchronizer(synchronizer, [](auto& of) { of.finish(); }); });
}

int dsop_synchronizer_describe(dsop_synchronizer synchronizer, const char** text) {
  return returning_status([&] {
    const auto object = find<SynchronizerObject>(synchronizer);
    object->description = with_typed(*object, [](const auto& of) { return of.describe(); });
    result(text, "text") = object->description.c_str();
  });
}

int dsop_synchronizer_residual(dsop_synchronizer synchronizer, const char* name, const void** values, size_t* count) {
  return returning_status([&] {
    with_synchronizer(synchronizer, [&]<class T>(const dsop::Synchronizer<T>& of) {
      const std::span<const T> residual = of.residual(text_of(name));
      result(values, "values") = residual.data();
      result(count, "count") = residual.size();
    });
  });
}

int dsop_synchronizer_reset_residuals(dsop_synchronizer synchronizer) {
  return returning_status([&] { with_synchronizer(synchronizer, [](auto& of) { of.reset_residuals(); }); });
}

int dsop_synchronizer_last_step(dsop_synchronizer synchronizer, const char* name, const char** algorithm,
                                size_t* target, size_t* chosen, size_t* in_sum, size_t* nans, size_t* infinities,
                                int* evaluated_local, int* evaluated_global) {
  return returning_status([&] {
    const auto object = find<SynchronizerObject>(synchronizer);
    const dsop::ParameterStep step =
        std::visit([&](const auto& of) { return of.last_step(text_of(name)); }, object->of_type);
    object->algorithm = step.algorithm;
    put_if_wanted(algorithm, object->algorithm.c_str());
    put_if_wanted(target, step.target);
    put_if_wanted(chosen, step.chosen);
    put_if_wanted(in_sum, step.in_sum);
    put_if_wanted(nans, step.nans);
    put_if_wanted(infinities, step.infinities);
    put_if_wanted(evaluated_local, step.evaluated_local ? 1 : 0);
    put_if_wanted(evaluated_global, step.evaluated_global ? 1 : 0);
  });
}

int dsop_synchronizer_last_selection(dsop_synchronizer synchronizer, const char* name, size_t* predicted,
                                     double* selection_seconds) {
  return returning_status([&] {
    const dsop::ParameterStep step = std::visit([&](const auto& of) { return of.last_step(text_of(name)); },
                                                find<SynchronizerObject>(synchronizer)->of_type);
    put_if_wanted(predicted, step.predicted);
    put_if_wanted(selection_seconds, step.selection_seconds);
  });
}

int dsop_synchronizer_save(dsop_synchronizer synchronizer, const void** bytes, size_t* count) {
  return returning_status([&] {
    const auto object = find<SynchronizerObject>(synchronizer);
    std::ostringstream out;
    with_typed(*object, [&](const auto& of) { of.save(out); });
    object->saved = std::move(out).str();
    result(bytes, "bytes") = object->saved.data();
    result(count, "count") = object->saved.size();
  });
}

int dsop_synchronizer_load(dsop_synchronizer synchronizer, const void* bytes, size_t count) {
  return returning_status([&] {
    std::istringstream in(std::string(static_cast<const char*>(bytes), bytes == nullptr ? 0 : count));
    with_synchronizer(synchronizer, [&](auto& of) { of.load(in); });
  });
}

int dsop_synchronizer_free(dsop_synchronizer synchronizer) {
  return free_object<SynchronizerObject>(synchronizer);
}
