// The buckets of a step.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "synchronizer/bucket.hpp"
#include "synchronizer/packing.hpp"
#include "synchronizer/step_calls.hpp"

namespace dsop::synchronizer {

template <class T>
struct RunningStep;

template <class T>
class Buckets {
 public:
  explicit Buckets(std::size_t bucket_bytes) : packing_(bucket_bytes) {}

  /// Puts the parameter into a bucket, and starts what is complete.
  void add(Parameter<T>& parameter, const BucketKey& bucket_key, RunningStep<T>& step) {
    const auto place = packing_.place(parameter.elements() * sizeof(T), bucket_key.text());
    if (place.closed) start(*place.closed, step);
    if (place.bucket == buckets_.size()) buckets_.push_back(std::make_unique<Bucket<T>>());
    if (place.is_first) buckets_[place.bucket]->open(bucket_key);
    buckets_[place.bucket]->add(parameter);
    if (place.is_alone) start(place.bucket, step);
  }
  /// Starts what is left.
  void close_all(RunningStep<T>& step) {
    for (const std::size_t b : packing_.close_all()) start(b, step);
  }

 private:
  void start(std::size_t b, RunningStep<T>& step) {
    Bucket<T>* const bucket = buckets_[b].get();
    step.calls.start([bucket, &step] { bucket->run(step.transport, step.terms); }, bucket->starts_at_once());
  }

  Packing packing_;
  std::vector<std::unique_ptr<Bucket<T>>> buckets_;
};

}  // namespace dsop::synchronizer
