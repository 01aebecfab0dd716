// What a synchronizer does in a step, as a table that policies fill.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <dsop/plan.hpp>
#include <dsop/transport.hpp>

#include "algorithms/dense/operation.hpp"
#include "call/communicator.hpp"
#include "synchronizer/packing.hpp"
#include "synchronizer/parameter.hpp"

namespace dsop::synchronizer {

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
  void alone(const Parameter<T>& parameter, const std::string& algorithm, const std::optional<Predicted>& predicted) {
    add(cells_of(parameter, algorithm), predicted);
  }
  /// It is summed as a dense vector, together with others.
  void in_bucket(const Parameter<T>& parameter, const BucketKey& bucket_key) {
    const auto place = packing_.place(parameter.elements() * sizeof(T), bucket_key);
    if (place.is_first) buckets_.push_back({bucket_key.algorithm});
    buckets_[place.bucket].parts.push_back(&parameter);
  }

  /// All that are in buckets have been said.
  void close_buckets() {
    for (std::size_t b = 0; b < buckets_.size(); ++b) add_bucket(b);
  }
  /// The table, with the totals; to be called once.
  std::string text() {
    lines_.push_back({"total", "", "", "", std::to_string(bytes_), time_text(seconds_)});
    std::array<std::size_t, 6> widths{};
    for (const Cells& line : lines_)
      for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
    std::string text;
    for (const Cells& line : lines_) {
      for (std::size_t c = 0; c < line.size(); ++c) {
        const std::string gap(widths[c] - line[c].size(), ' ');
        const bool is_number = c >= 4;
        text.append(c == 0 ? "" : "  ").append(is_number ? gap + line[c] : line[c] + gap);
      }
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
    }
    return text;
  }

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

  static std::string time_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
    return text;
  }

  Cells cells_of(const Parameter<T>& parameter, const std::string& algorithm) {
    const Shape& shape = parameter.shape;
    return {parameter.name, std::to_string(shape.rows) + " x " + std::to_string(shape.columns), parameter.policy.text,
            algorithm};
  }

  void add(Cells cells, const std::optional<Predicted>& predicted) {
    if (predicted) {
      cells[4] = std::to_string(predicted->bytes);
      cells[5] = time_text(predicted->seconds);
      bytes_ += predicted->bytes;
      seconds_ += predicted->seconds;
    }
    lines_.push_back(std::move(cells));
  }

  void add_bucket(std::size_t b) {
    const Bucket& bucket = buckets_[b];
    DenseProblem problem{.ranks = transport.size(),
                         .type = data_type<T>,
                         .group = attachment<CommunicatorState>(transport).ranks.group,
                         .wire = wire};
    for (const Parameter<T>* const part : bucket.parts) problem.elements += part->elements();
    std::string algorithm = bucket.algorithm;
    if (algorithm != "auto")
      algorithm = make_dense_plan(dense_algorithms(), problem, of_named, algorithm).algorithm_text();
    const DensePlan plan = make_dense_plan(dense_algorithms(), problem, machine, algorithm);
    const Predicted predicted{plan.cost().bytes, plan.seconds() + product_seconds(bucket)};
    if (bucket.parts.size() == 1) return alone(*bucket.parts[0], plan.algorithm_text(), predicted);
    const std::string name = "bucket " + std::to_string(b + 1);
    add({name, std::to_string(problem.elements), "", plan.algorithm_text()}, predicted);
    for (const Parameter<T>* const part : bucket.parts) {
      Cells cells = cells_of(*part, "in " + name);
      cells[0].insert(0, "  ");
      add(std::move(cells), {});
    }
  }

  // The local products of its parts, that are expected.
  double product_seconds(const Bucket& bucket) const {
    double seconds = 0;
    for (const Parameter<T>* const part : bucket.parts)
      if (part->given.factors())
        seconds +=
            machine.product_seconds(static_cast<double>(part->shape.rows), static_cast<double>(part->shape.columns),
                                    static_cast<double>(part->shape.planned_pairs()), data_type<T>);
    return seconds;
  }

  Packing packing_;
  std::vector<Bucket> buckets_;
  std::vector<Cells> lines_{{"parameter", "shape", "policy", "algorithm", "bytes sent", "predicted"}};
  std::size_t bytes_ = 0;  // the sum of what is known
  double seconds_ = 0;
};

}  // namespace dsop::synchronizer
