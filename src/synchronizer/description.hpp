// What a synchronizer does in a step, as a table that policies fill.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <dsop/plan.hpp>
#include <dsop/transport.hpp>

#include "synchronizer/bucket_key.hpp"
#include "synchronizer/packing.hpp"

namespace dsop::synchronizer {

template <class T>
class Parameter;

/// What a sum by itself sends, and how long the call takes.
struct Predicted {
  std::size_t bytes = 0;
  double seconds = 0;
};

template <class T>
class Description {
 public:
  /// What named algorithms leave open they take by `of_named`; what all cost is by `machine`. Both must outlive it.
  Description(Transport& transport_, const Machine& machine_, const Machine& of_named_, Wire wire_,
              std::size_t bucket_bytes)
      : transport(transport_), machine(machine_), of_named(of_named_), wire(wire_), packing_(bucket_bytes) {}

  /// The parameter is summed by itself, or not at all; what that takes, where it is known.
  void alone(const Parameter<T>& parameter, const std::string& algorithm, const std::optional<Predicted>& predicted);
  /// It is summed as a dense vector, together with others.
  void in_bucket(const Parameter<T>& parameter, const BucketKey& bucket_key);

  /// All that are in buckets have been said.
  void close_buckets() {
    for (std::size_t b = 0; b < buckets_.size(); ++b) add_bucket(b);
  }
  /// The table, with the totals; to be called once.
  std::string text();

  Transport& transport;
  const Machine& machine;
  const Machine& of_named;
  const Wire wire;

 private:
  using Cells = std::array<std::string, 6>;  // name, shape, policy, algorithm, bytes, time
  struct Bucket {
    std::string algorithm;
    std::vector<const Parameter<T>*> parts = {};
  };

  static Cells cells_of(const Parameter<T>& parameter, const std::string& algorithm);
  void add(Cells cells, const std::optional<Predicted>& predicted);
  void add_bucket(std::size_t b);
  double product_seconds(const Bucket& bucket) const;

  Packing packing_;
  std::vector<Bucket> buckets_;
  std::vector<Cells> lines_{{"parameter", "shape", "policy", "algorithm", "bytes sent", "predicted"}};
  std::size_t bytes_ = 0;  // the sum of what is known
  double seconds_ = 0;
};

}  // namespace dsop::synchronizer
