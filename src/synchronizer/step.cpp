// One step, from begin() to finish().
#include <algorithm>
#include <cmath>

#include <dsop/types.hpp>

#include "algorithms/outer_product/arguments.hpp"
#include "base/error_of.hpp"
#include "base/refuse.hpp"
#include "sparse/arguments.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/state.hpp"

namespace dsop {

using synchronizer::Route;

template <class T>
void Synchronizer<T>::State::begin(const Step& step) {
  const double factor = step.scale * (options.residual_holds_step ? step.learning_rate : 1);
  std::string error = error_of([&] {
    check_between_steps("begin()");
    for (const auto& [name, value] : {std::pair("scale", step.scale), std::pair("learning_rate", step.learning_rate),
                                      std::pair("scale times learning_rate", factor)})
      if (!std::isfinite(static_cast<T>(value)))
        refuse(name, value, "a finite number in " + std::string(dsop::name(data_type<T>)));
  });
  if (!has_begun_) {
    has_begun_ = true;
    order.clear();
    for (const auto& parameter : parameters) {
      parameter->is_given = false;
      parameter->last_step = {};
    }
    terms_.scale = factor;
  }
  if (early_ || !error.empty()) fail("", std::move(error));
}

// In place of a call, so that the other ranks hear it in their next one: at once if that can have started.
template <class T>
void Synchronizer<T>::State::fail(std::string subject, std::string error) {
  tell_early_error(subject, error);
  const auto tell = [this, subject = std::move(subject), error = std::move(error)] {
    const synchronizer::OnBehalf on_behalf(transport, subject);
    synchronizer::fail_on_all<T>(transport, error);
  };
  calls_.start(tell, std::any_of(parameters.begin(), parameters.end(),
                                 [](const auto& parameter) { return parameter->policy.at_once; }));
}

template <class T>
void Synchronizer<T>::State::check_given(const Parameter& parameter, const Given& given) const {
  if (!has_begun_) throw ArgumentError("give() stands outside a step, expected after begin()");
  if (parameter.is_given) throw ArgumentError("it is given twice in one step, expected once at most");
  const auto* const factors = std::get_if<SparseFactors<T>>(&given.own);
  check_arguments<T>(factors != nullptr ? *factors : SparseFactors<T>(Factors<T>{}), given.gradient, {},
                     &parameter.shape);
  const auto* const own = std::get_if<SparseVectorView<T>>(&given.own);
  if (own == nullptr) return;
  check_vector("own", *own);
  if (own->dimension != parameter.elements())
    refuse("own.dimension", own->dimension, "the gradient's " + std::to_string(parameter.elements()));
}

template <class T>
void Synchronizer<T>::State::give(const std::string& name, Given given) {
  Parameter* parameter = nullptr;
  std::string error = error_of([&] {
    parameter = &find(name);
    check_given(*parameter, given);
  });
  if (!error.empty()) return give_up(name, error);
  if (given.gradient.rows <= 1) given.gradient.stride = given.gradient.columns;
  parameter->given = given;
  parameter->is_given = true;
  order.push_back(parameter);
  start(*parameter);
}

template <class T>
void Synchronizer<T>::State::give_up(const std::string& name, const std::string& error) {
  if (has_begun_) return fail(name, error);
  if (!early_) early_ = {name, error};
}

template <class T>
void Synchronizer<T>::State::start(Parameter& parameter) {
  const auto start_call = [&](void (Parameter::*sum)(Transport&, const Options&)) {
    calls_.start([this, &parameter, sum] { (parameter.*sum)(transport, terms_); });
  };
  switch (parameter.route()) {
    case Route::outer_product:
      return start_call(&Parameter::sum_outer_product);
    case Route::sparse:
      return start_call(&Parameter::sum_sparse);
    case Route::top_k:
      return start_call(&Parameter::sum_selected);
    case Route::none:
      return start_call(&Parameter::keep_own);
    case Route::dense:
      return start_dense(parameter);
  }
}

template <class T>
void Synchronizer<T>::State::start_dense(Parameter& parameter) {
  const auto place = packing_.place(parameter.elements() * sizeof(T), parameter.company());
  if (place.closed) start_bucket(*place.closed);
  if (place.bucket == buckets_.size()) buckets_.push_back(std::make_unique<synchronizer::Bucket<T>>());
  if (place.is_first) buckets_[place.bucket]->open(parameter);
  buckets_[place.bucket]->add(parameter);
  if (place.is_alone) start_bucket(place.bucket);
}

template <class T>
void Synchronizer<T>::State::start_bucket(std::size_t b) {
  synchronizer::Bucket<T>* const bucket = buckets_[b].get();
  calls_.start([this, bucket] { bucket->run(transport, terms_); }, bucket->starts_at_once());
}

template <class T>
void Synchronizer<T>::State::finish() {
  if (!has_begun_) fail("", "finish() stands outside a step, expected after begin()");
  for (const std::size_t b : packing_.close_all()) start_bucket(b);
  has_begun_ = false;
  calls_.start([this] { end_step(); });
  const auto end_parameters = [&](bool well) {
    for (const auto& parameter : parameters) parameter->end_step(well);
  };
  try {
    calls_.finish();
  } catch (...) {
    end_parameters(false);
    throw;
  }
  end_parameters(true);
  ++steps;
}

// So that a rank that has given less than others is found, and by all.
template <class T>
void Synchronizer<T>::State::end_step() {
  std::string names;
  for (const Parameter* const parameter : order) names.append(names.empty() ? "" : ", ").append(parameter->name);
  agree(synchronizer::end_of_step, names, "", [&](Call& call) { call.same_now("scale", terms_.scale); });
}

#define INSTANTIATE(T)                                                   \
  template void Synchronizer<T>::State::begin(const Step&);              \
  template void Synchronizer<T>::State::give(const std::string&, Given); \
  template void Synchronizer<T>::State::finish();
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
