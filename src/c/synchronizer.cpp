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

struct Model {
  std::shared_ptr<Ranks> ranks;
  AnyType<Synchronizer> synchronizer;
  std::string description = {};
  std::string algorithm = {};
  std::string saved = {};
};

// Throws ArgumentError if its ranks have ended.
std::shared_ptr<Model> live_model(Handle handle) {
  auto model = find<Model>(handle);
  model->ranks->get();
  return model;
}

// Calls body(T, synchronizer) with the synchronizer of its type.
template <class Body>
decltype(auto) with_synchronizer(Handle handle, const Body& body) {
  const auto model = live_model(handle);
  return std::visit([&]<class T>(Synchronizer<T>& synchronizer) -> decltype(auto) { return body(T{}, synchronizer); },
                    model->synchronizer);
}

// A missing name is the name of no parameter.
std::string name_of(const char* name) {
  return name == nullptr ? "" : name;
}

}  // namespace

template <>
inline constexpr const char* kind_of<Model> = "synchronizer";

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
      return put(std::make_shared<Model>(Model{find<Ranks>(communicator), dsop::Synchronizer<T>(transport, with)}));
    });
  });
}

int dsop_synchronizer_add(dsop_synchronizer synchronizer, const char* name, size_t rows, size_t columns,
                          size_t max_pairs, const char* policy, const char* options) {
  return returning_status([&] {
    const dsop::Shape shape = prepared(find<Model>(synchronizer)->ranks->get(), [&] {
      return with_shape_options({.rows = rows, .columns = columns, .max_pairs = max_pairs}, options);
    });
    with_synchronizer(synchronizer,
                      [&](auto, auto& of) { of.add(name_of(name), shape, policy == nullptr ? "" : policy); });
  });
}

int dsop_synchronizer_set_policy(dsop_synchronizer synchronizer, const char* name, const char* policy) {
  return returning_status([&] {
    with_synchronizer(synchronizer,
                      [&](auto, auto& of) { of.set_policy(name_of(name), policy == nullptr ? "" : policy); });
  });
}

int dsop_policy_selects(const char* policy, int* selects) {
  return returning_status([&] {
    const dsop::synchronizer::PolicyText text(policy == nullptr ? "" : policy);
    result(selects, "selects") = dsop::synchronizer::policy_kind(text).selects ? 1 : 0;
  });
}

int dsop_synchronizer_begin(dsop_synchronizer synchronizer, double scale, double learning_rate) {
  return returning_status([&] {
    with_synchronizer(synchronizer,
                      [&](auto, auto& of) { of.begin({.scale = scale, .learning_rate = learning_rate}); });
  });
}

int dsop_synchronizer_give_factors(dsop_synchronizer synchronizer, const char* name, const dsop_factor* a,
                                   const dsop_factor* b, const dsop_matrix* target, double alpha, double beta) {
  return returning_status([&] {
    with_synchronizer(synchronizer, [&]<class T>(T, dsop::Synchronizer<T>& of) {
      of.give(name_of(name), factors_of<T>(a, b), view_of<T>(target), {.alpha = alpha, .beta = beta});
    });
  });
}

int dsop_synchronizer_give_gradient(dsop_synchronizer synchronizer, const char* name, const dsop_matrix* gradient) {
  return returning_status([&] {
    with_synchronizer(synchronizer,
                      [&]<class T>(T, dsop::Synchronizer<T>& of) { of.give(name_of(name), view_of<T>(gradient)); });
  });
}

int dsop_synchronizer_give_vector(dsop_synchronizer synchronizer, const char* name, const dsop_vector* own,
                                  const dsop_matrix* target, double alpha, double beta) {
  return returning_status([&] {
    with_synchronizer(synchronizer, [&]<class T>(T, dsop::Synchronizer<T>& of) {
      of.give(name_of(name), view_of<T>(own), view_of<T>(target), {.alpha = alpha, .beta = beta});
    });
  });
}

int dsop_synchronizer_fail(dsop_synchronizer synchronizer, const char* name, const char* error) {
  return returning_status([&] {
    with_synchronizer(synchronizer, [&](auto, auto& of) { of.fail(name_of(name), error == nullptr ? "" : error); });
  });
}

int dsop_synchronizer_finish(dsop_synchronizer synchronizer) {
  return returning_status([&] { with_synchronizer(synchronizer, [](auto, auto& of) { of.finish(); }); });
}

int dsop_synchronizer_describe(dsop_synchronizer synchronizer, const char** text) {
  return returning_status([&] {
    const auto model = live_model(synchronizer);
    model->description = std::visit([](const auto& of) { return of.describe(); }, model->synchronizer);
    result(text, "text") = model->description.c_str();
  });
}

int dsop_synchronizer_residual(dsop_synchronizer synchronizer, const char* name, const void** values, size_t* count) {
  return returning_status([&] {
    with_synchronizer(synchronizer, [&]<class T>(T, const dsop::Synchronizer<T>& of) {
      const std::span<const T> residual = of.residual(name_of(name));
      result(values, "values") = residual.data();
      result(count, "count") = residual.size();
    });
  });
}

int dsop_synchronizer_reset_residuals(dsop_synchronizer synchronizer) {
  return returning_status([&] { with_synchronizer(synchronizer, [](auto, auto& of) { of.reset_residuals(); }); });
}

int dsop_synchronizer_last_step(dsop_synchronizer synchronizer, const char* name, const char** algorithm,
                                size_t* target, size_t* chosen, size_t* in_sum, size_t* nans, size_t* infinities,
                                int* evaluated_local, int* evaluated_global) {
  return returning_status([&] {
    const auto model = find<Model>(synchronizer);
    const dsop::ParameterStep step =
        std::visit([&](const auto& of) { return of.last_step(name_of(name)); }, model->synchronizer);
    model->algorithm = step.algorithm;
    put_if_wanted(algorithm, model->algorithm.c_str());
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
    const dsop::ParameterStep step = std::visit([&](const auto& of) { return of.last_step(name_of(name)); },
                                                find<Model>(synchronizer)->synchronizer);
    put_if_wanted(predicted, step.predicted);
    put_if_wanted(selection_seconds, step.selection_seconds);
  });
}

int dsop_synchronizer_save(dsop_synchronizer synchronizer, const void** bytes, size_t* count) {
  return returning_status([&] {
    const auto model = live_model(synchronizer);
    std::ostringstream out;
    std::visit([&](const auto& of) { of.save(out); }, model->synchronizer);
    model->saved = std::move(out).str();
    result(bytes, "bytes") = model->saved.data();
    result(count, "count") = model->saved.size();
  });
}

int dsop_synchronizer_load(dsop_synchronizer synchronizer, const void* bytes, size_t count) {
  return returning_status([&] {
    std::istringstream in(std::string(static_cast<const char*>(bytes), bytes == nullptr ? 0 : count));
    with_synchronizer(synchronizer, [&](auto, auto& of) { of.load(in); });
  });
}

int dsop_synchronizer_free(dsop_synchronizer synchronizer) {
  return freeing(synchronizer, [&] { take<Model>(synchronizer); });
}
