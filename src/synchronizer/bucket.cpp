#include "synchronizer/bucket.hpp"

#include <dsop/types.hpp>

#include "base/error_of.hpp"
#include "kernels/update.hpp"
#include "synchronizer/agree.hpp"

namespace dsop::synchronizer {

template <class T>
void Bucket<T>::open(const BucketKey& bucket_key) {
  bucket_key_ = bucket_key;
  parts_.clear();
  names_.clear();
  elements_ = 0;
}

template <class T>
void Bucket<T>::add(Parameter<T>& parameter) {
  names_.append(parts_.empty() ? "" : ", ").append(parameter.name);
  parts_.push_back(&parameter);
  elements_ += parameter.elements();
}

// A gradient that is alone and has no gaps is summed in its target, unless something there is still needed.
template <class T>
std::span<T> Bucket<T>::take_memory() {
  for (Parameter<T>* const part : parts_) part->reserve();
  const Given<T>& first = parts_[0]->given;
  if (parts_.size() == 1 && first.target.contiguous() && first.beta() == T{0}) return {first.target.data, elements_};
  return memory_.at_least(elements_);
}

template <class T>
void Bucket<T>::run(Transport& transport, const Options& options) {
  const OnBehalf on_behalf(transport, names_);
  Call call(transport, name(Collective::allreduce), elements_, 1, data_type<T>);
  std::span<T> data;
  call.check([&] { data = take_memory(); });
  calls_.agree(
      call, {Collective::allreduce, elements_, 0, bucket_key_.algorithm, options.scale, options.machine, options.wire});

  const auto for_each_part = [&](auto body) {
    std::span<T> rest = data;
    for (Parameter<T>* const part : parts_) {
      body(*part, MatrixView<T>(rest.data(), part->shape.rows, part->shape.columns));
      rest = rest.subspan(part->elements());
    }
  };
  for_each_part([&](Parameter<T>& part, MatrixView<T> place) {
    part.make_gradient(static_cast<T>(options.scale), place);
    part.forget_residual();
  });
  calls_.run_agreed(call, data, 0);
  for_each_part([&](Parameter<T>& part, MatrixView<T> place) {
    kernels::update<T>(place, part.given.alpha(), part.given.beta(), part.given.target);
    part.last_step = {.algorithm = calls_.plan().algorithm_text()};
  });
}

#define INSTANTIATE(T) template class Bucket<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::synchronizer
