#include "synchronizer/parameter.hpp"

#include <utility>

#include <dsop/types.hpp>

namespace dsop::synchronizer {

template <class T>
std::span<T> Parameter<T>::next_residual() {
  next_residual_.resize(elements());
  return next_residual_;
}

template <class T>
void Parameter<T>::end_step(bool well) {
  const LeftBehind left_behind = std::exchange(left_behind_, LeftBehind::the_same);
  policy.how->end_step(well);
  if (!well) {
    last_step = {};
  } else if (left_behind == LeftBehind::next) {
    residual.swap(next_residual_);
  } else if (left_behind == LeftBehind::nothing) {
    residual = std::vector<T>();
    next_residual_ = std::vector<T>();
  }
}

#define INSTANTIATE(T) template class Parameter<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::synchronizer
