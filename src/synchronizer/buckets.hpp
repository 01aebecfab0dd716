// Gradients that are summed by one call, dense ones as one vector or by their factors, and the step that they belong
// to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/dense/operation.hpp"
#include "algorithms/outer_product/factor_bucket.hpp"
#include "algorithms/outer_product/sharing.hpp"
#include "kernels/update.hpp"
#include "memory/workspace.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/packing.hpp"
#include "synchronizer/parameter.hpp"
#include "synchronizer/step_calls.hpp"

namespace dsop::synchronizer {

/// Reused from step to step; keeps its memory and plan.
template <class T>
class Bucket {
 public:
  void open(const BucketKey& bucket_key) {
    bucket_key_ = bucket_key;
    parts_.clear();
    names_.clear();
    has_gathered_ = false;
    elements_ = 0;
  }
  void add(Parameter<T>& parameter) {
    names_.append(parts_.empty() ? "" : ", ").append(parameter.name);
    if (parameter.bias_follows()) names_.append(", ").append(parameter.bias->name);
    parts_.push_back(&parameter);
    layers_.reserve(parts_.size());
    elements_ += parameter.elements();
  }
  /// Sums what is in it and leaves the sums in the targets.
  void run(Transport& transport, const StepTerms& terms) {
    if (bucket_key_.factor_wire) return run_factors(transport, terms);
    const OnBehalf on_behalf(transport, names_);
    calls_.run(transport, Sum{{.collective = Collective::allreduce,
                               .elements = elements_,
                               .algorithm = bucket_key_.algorithm,
                               .machine = terms.machine,
                               .wire = terms.wire,
                               .scale = terms.scale},
                              *this});
  }
  bool starts_at_once() const { return bucket_key_.at_once; }
  std::size_t memory_bytes() const { return memory_.elements().size_bytes(); }
  /// What it gathered in the last step, if that was of factors of those and so; else null.
  const FactorBucketCalls<T>* gathered(const BucketKey& bucket_key, const std::string& names) const {
    return has_gathered_ && bucket_key_ == bucket_key && names_ == names ? &factor_calls_ : nullptr;
  }

 private:
  // An allreduce whose data are made from the parts, and go back there: its check() and run() hide those of the
  // operation, and PlannedCalls is given a Sum.
  struct Sum : DenseOperation<T> {
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
        const bool multiplied = part.given.factors() && part.policy.how->shared() == outer_product::Shared::gradient;
        part.last_step = {.algorithm = (multiplied ? "allreduce-" : "") + made.text};
      });
    }
  };

  void run_factors(Transport& transport, const StepTerms& terms) {
    layers_.clear();
    for (const Parameter<T>* const part : parts_) {
      const Given<T>& given = part->given;
      layers_.push_back({std::get<SparseFactors<T>>(given.own), given.target, alpha_of(given, terms), given.beta()});
      if (!part->bias_follows()) continue;
      const Given<T>& bias = part->bias->given;
      layers_.back().bias = {bias.target, alpha_of(bias, terms), bias.beta(), part->bias->errors_are_a};
    }
    {
      const OnBehalf on_behalf(transport, names_);
      has_gathered_ = factor_calls_.run(
          transport, {bucket_key_.algorithm, terms.machine, terms.scale, *bucket_key_.factor_wire}, layers_);
    }
    if (!has_gathered_) return run_each(transport, terms);
    for (Parameter<T>* const part : parts_) {
      part->last_step = {.algorithm = factor_calls_.algorithm_text()};
      if (part->bias_follows()) part->bias->last_step = part->last_step;
    }
  }
  void run_each(Transport& transport, const StepTerms& terms) const {
    for (Parameter<T>* const part : parts_) {
      part->policy.how->sum_alone(*part, transport, terms);
      if (!part->bias_follows()) continue;
      Bucket of_bias;
      of_bias.open({});
      of_bias.add(*part->bias);
      of_bias.run(transport, terms);
      part->bias->follows = false;
    }
  }
  static T alpha_of(const Given<T>& given, const StepTerms& terms) {
    return static_cast<T>(terms.scale * given.update.alpha);
  }

  // A gradient that is alone and has no gaps is summed in its target, unless something there is still needed.
  std::span<T> take_memory() {
    for (Parameter<T>* const part : parts_) part->reserve();
    const Given<T>& first = parts_[0]->given;
    if (parts_.size() == 1 && first.target.contiguous() && first.beta() == T{0}) return {first.target.data, elements_};
    return memory_.at_least(elements_);
  }

  /// Calls body(parameter, its place in `data`).
  template <class Body>
  void for_each_part(std::span<T> data, const Body& body) const {
    for (Parameter<T>* const part : parts_) {
      body(*part, MatrixView<T>(data.data(), part->shape.rows, part->shape.columns));
      data = data.subspan(part->elements());
    }
  }

  BucketKey bucket_key_;
  std::vector<Parameter<T>*> parts_;
  std::string names_;
  std::size_t elements_ = 0;
  std::vector<BucketLayer<T>> layers_;  // of a bucket of factors
  bool has_gathered_ = false;
  Workspace<T> memory_;
  DenseCalls calls_;
  FactorBucketCalls<T> factor_calls_;
};

template <class T>
struct RunningStep;

template <class T>
class Buckets {
 public:
  explicit Buckets(std::size_t bucket_bytes) : packing_(bucket_bytes) {}

  /// Puts the parameter, of which so many bytes count, into a bucket, and starts what is complete.
  void add(Parameter<T>& parameter, const BucketKey& bucket_key, std::size_t bytes, RunningStep<T>& step) {
    const auto place = packing_.place(bytes, bucket_key);
    if (place.closed) start(*place.closed, step);
    if (place.bucket == buckets_.size()) buckets_.push_back(std::make_unique<Bucket<T>>());
    if (place.is_first) buckets_[place.bucket]->open(bucket_key);
    buckets_[place.bucket]->add(parameter);
    if (place.is_complete) start(place.bucket, step);
    last(bucket_key) = &parameter;
    if (!parameter.ends_bucket) return;
    if (const auto open = packing_.close(bucket_key)) start(*open, step);
  }
  /// A bias that can't follow its weight after all is a gradient as others.
  void add_bias(Parameter<T>& bias, RunningStep<T>& step) {
    bias.follows = false;
    add(bias, {}, bias.elements() * sizeof(T), step);
  }
  /// Starts what is left.
  void close_all(RunningStep<T>& step) {
    for (const std::size_t b : packing_.close_all()) start(b, step);
  }
  void begin_step() { last_.clear(); }
  /// Of gradients that are in a bucket.
  std::size_t memory_bytes() const {
    std::size_t bytes = 0;
    for (const auto& bucket : buckets_) bytes += bucket->memory_bytes();
    return bytes;
  }
  /// What bucket b gathered in the last step, as Bucket says.
  const FactorBucketCalls<T>* gathered(std::size_t b, const BucketKey& bucket_key, const std::string& names) const {
    return b < buckets_.size() ? buckets_[b]->gathered(bucket_key, names) : nullptr;
  }
  /// The step has ended well on all ranks.
  void note_last() const {
    for (const auto& [key, parameter] : last_) parameter->ends_bucket = true;
  }

 private:
  void start(std::size_t b, RunningStep<T>& step) {
    Bucket<T>* const bucket = buckets_[b].get();
    step.calls.start([bucket, &step] { bucket->run(step.transport, step.terms); }, bucket->starts_at_once());
  }

  Parameter<T>*& last(const BucketKey& bucket_key) {
    const auto found = std::ranges::find(last_, bucket_key, [](const auto& last) { return last.first; });
    return found != last_.end() ? found->second : last_.emplace_back(bucket_key, nullptr).second;
  }

  Packing packing_;
  std::vector<std::unique_ptr<Bucket<T>>> buckets_;
  std::vector<std::pair<BucketKey, Parameter<T>*>> last_;  // that came to a bucket of that key in this step
};

/// The step that is under way, as policies see it.
template <class T>
struct RunningStep {
  Transport& transport;
  StepCalls& calls;
  StepTerms terms = {};
  Buckets<T> buckets;
};

}  // namespace dsop::synchronizer
