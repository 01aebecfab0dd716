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

/// Calls body(parameter, its place in `data`).
template <class T>
template <class Body>
void Bucket<T>::for_each_part(std::span<T> data, const Body& body) const {
  for (Parameter<T>* const part : parts_) {
    body(*part, MatrixView<T>(data.data(), part->shape.rows, part->shape.columns));
    data = data.subspan(part->elements());
  }
}

// An allreduce whose data are made from the parts, and go back there.
template <class T>
struct Bucket<T>::Sum : DenseOperation<T> {
  Bucket& bucket;

  void check(const Call&) { this->data = bucket.take_memory(); }
  void run(const Call& call, const Planned<DensePlan>& made) const {
    bucket.for_each_part(this->data, [&](Parameter<T>& part, MatrixView<T> place) {
      part.make_gradient(static_cast<T>(this->scale), place);
      part.forget_residual();
    });
    DenseOperation<T>::run(call, made);
    bucket.for_each_part(this->data, [&](Parameter<T>& part, MatrixView<T> place) {
      kernels::update<T>(place, part.given.alpha(), part.given.beta(), part.given.target);
      part.last_step = {.algorithm = made.text};
    });
  }
};

template <class T>
void Bucket<T>::run(Transport& transport, const StepTerms& terms) {
  const OnBehalf on_behalf(transport, names_);
  calls_.run(transport, Sum{{.collective = Collective::allreduce,
                             .elements = elements_,
                             .algorithm = bucket_key_.algorithm,
                             .machine = terms.machine,
                             .wire = terms.wire,
                             .scale = terms.scale},
                            *this});
}

#define INSTANTIATE(T) template class Bucket<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::synchronizer
