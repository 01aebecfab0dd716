// Dense gradients that are summed as one vector.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "algorithms/dense/operation.hpp"
#include "synchronizer/bucket_key.hpp"
#include "synchronizer/parameter.hpp"

namespace dsop::synchronizer {

/// Reused from step to step; keeps its memory and plan.
template <class T>
class Bucket {
 public:
  void open(const BucketKey& bucket_key);
  void add(Parameter<T>& parameter);
  /// Sums what is in it and leaves the sums in the gradients.
  void run(Transport& transport, const StepTerms& terms);
  bool starts_at_once() const { return bucket_key_.at_once; }

 private:
  std::span<T> take_memory();
  template <class Body>
  void for_each_part(std::span<T> data, const Body& body) const;
  struct Sum;

  BucketKey bucket_key_;
  std::vector<Parameter<T>*> parts_;
  std::string names_;
  std::size_t elements_ = 0;
  Workspace<T> memory_;
  DenseCalls calls_;
};

}  // namespace dsop::synchronizer
