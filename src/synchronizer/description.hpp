// What a synchronizer does in a step, as a table that policies fill.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dsop/plan.hpp>
#include <dsop/transport.hpp>

#include "algorithms/dense/operation.hpp"
#include "algorithms/outer_product/factor_bucket.hpp"
#include "algorithms/outer_product/gather_factors.hpp"
#include "base/aligned_table.hpp"
#include "call/agreement_seconds.hpp"
#include "call/communicator.hpp"
#include "synchronizer/buckets.hpp"
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
  /// What named algorithms leave open they take by `of_named`; what all cost is by `machine`, if that `is_known`. Both,
  /// and the buckets, must outlive it.
  Description(Transport& transport_, const Machine& machine_, const Machine& of_named_, bool is_known, Wire wire_,
              std::size_t bucket_bytes, const Buckets<T>& buckets)
      : transport(transport_),
        machine(machine_),
        of_named(of_named_),
        wire(wire_),
        is_known_(is_known),
        packing_(bucket_bytes),
        last_(buckets) {}

  /// The parameter is summed by itself, or not at all; what that takes, where it is known.
  void alone(const Parameter<T>& parameter, const std::string& algorithm, const std::optional<Predicted>& predicted) {
    add(cells_of(parameter, algorithm), predicted, parameter.names());
  }
  /// It is summed together with others: as a dense vector, or as a `factored` problem that was planned. So many bytes
  /// of it count.
  void in_bucket(const Parameter<T>& parameter, const BucketKey& bucket_key, std::size_t bytes,
                 const Problem* factored = nullptr) {
    const auto place = packing_.place(bytes, bucket_key);
    if (place.is_first) buckets_.push_back({bucket_key});
    buckets_[place.bucket].parts.push_back({&parameter, factored});
  }

  /// All that are in buckets have been said.
  void close_buckets() {
    for (std::size_t b = 0; b < buckets_.size(); ++b) add_bucket(b);
  }
  /// The table, with the totals; to be called once.
  std::string text() {
    lines_.push_back({"total", "", "", "", std::to_string(bytes_), is_known_ ? time_text(seconds_) : ""});
    if (measured_seconds_ > 0) lines_.back()[6] = time_text(measured_seconds_);
    constexpr std::size_t texts = 4;
    std::string text = aligned_table(lines_, texts);
    const Measured all{1, compared_seconds_, compared_seconds_, 0, expected_seconds_};
    if (all.is_off())
      text.append("warning: without agreements predicted ")
          .append(time_text(expected_seconds_))
          .append(", measured ")
          .append(time_text(compared_seconds_))
          .append(": calibrate again\n");
    return text;
  }

  Transport& transport;
  const Machine& machine;
  const Machine& of_named;
  const Wire wire;

 private:
  // name, shape, policy, algorithm, bytes, time predicted, median time measured, last one, of how many calls, time
  // waited
  using Cells = std::array<std::string, 10>;
  struct Part {
    const Parameter<T>* parameter;
    const Problem* factored;
  };
  struct Bucket {
    BucketKey bucket_key;
    std::vector<Part> parts = {};
  };
  struct BucketPlan {
    std::size_t elements;  // of all gradients
    std::string algorithm;
    Predicted predicted;
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

  // What calls for `names`, by the algorithm in `cells`, took on this rank.
  void add_measured(Cells& cells, const std::string& names) {
    const std::string type(name(data_type<T>));
    const std::span<const LoggedCalls> rows = attachment<CommunicatorState>(transport).log.rows();
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      if (row->calls == 0 || row->parameter != names || row->algorithm != cells[3] || !row->operation.ends_with(type))
        continue;
      const Measured measured = row->measured();
      cells[6] = time_text(measured.median_seconds);
      cells[7] = time_text(measured.last_seconds);
      cells[8] = std::to_string(measured.calls);
      cells[9] = time_text(measured.waited_seconds);
      measured_seconds_ += measured.median_seconds;
      if (measured.predicted_seconds > 0) {
        compared_seconds_ += measured.median_seconds;
        expected_seconds_ += measured.predicted_seconds;
      }
      return;
    }
  }

  void add(Cells cells, const std::optional<Predicted>& predicted, const std::string& names = {}) {
    if (!names.empty()) add_measured(cells, names);
    if (predicted) {
      cells[4] = std::to_string(predicted->bytes);
      if (is_known_) cells[5] = time_text(predicted->seconds);
      bytes_ += predicted->bytes;
      seconds_ += predicted->seconds;
    }
    lines_.push_back(std::move(cells));
  }

  BucketPlan plan_dense(const Bucket& bucket) const {
    DenseProblem problem{.ranks = transport.size(),
                         .type = data_type<T>,
                         .group = attachment<CommunicatorState>(transport).ranks.group,
                         .wire = wire};
    for (const Part& part : bucket.parts) problem.elements += part.parameter->elements();
    std::string algorithm = bucket.bucket_key.algorithm;
    if (algorithm != "auto")
      algorithm = make_dense_plan(dense_algorithms(), problem, of_named, algorithm).algorithm_text();
    const DensePlan plan = make_dense_plan(dense_algorithms(), problem, machine, algorithm);
    return {problem.elements, plan.algorithm_text(), {plan.cost().bytes, plan.seconds() + product_seconds(bucket)}};
  }

  // As it was in the last step, or else is expected.
  BucketPlan plan_factors(const Bucket& bucket, const FactorBucketCalls<T>* last) const {
    FactorBucketProblem problem{.type = data_type<T>,
                                .group = attachment<CommunicatorState>(transport).ranks.group,
                                .factor_wire = *bucket.bucket_key.factor_wire};
    std::size_t elements = 0;
    for (const auto& [parameter, factored] : bucket.parts) {
      problem.add({factored->rows, factored->columns}, factored->pairs);
      elements += parameter->elements();
    }
    if (last != nullptr) problem = last->problem();
    const std::string& named = bucket.bucket_key.algorithm;
    std::string algorithm = named;
    if (named != "auto")
      algorithm = "allgather-" + make_factor_bucket_plan(problem, of_named, named).factors.algorithm->name;
    const double agreement = agreement_seconds(machine, problem.group.nodes, transport.size());
    const Cost cost = make_factor_bucket_plan(std::move(problem), machine, algorithm).cost;
    return {elements, factor_bucket_text(named), {cost.bytes, agreement + cost.seconds()}};
  }

  void add_bucket(std::size_t b) {
    const Bucket& bucket = buckets_[b];
    std::string names;
    for (const Part& part : bucket.parts) names.append(names.empty() ? "" : ", ").append(part.parameter->names());
    const FactorBucketCalls<T>* const last = last_.gathered(b, bucket.bucket_key, names);
    const auto [elements, algorithm, predicted] =
        bucket.bucket_key.factor_wire ? plan_factors(bucket, last) : plan_dense(bucket);
    if (bucket.parts.size() == 1) return alone(*bucket.parts[0].parameter, algorithm, predicted);
    const std::string name = "bucket " + std::to_string(b + 1);
    add({name, std::to_string(elements), "", algorithm}, predicted, names);
    for (std::size_t i = 0; i < bucket.parts.size(); ++i) {
      const auto& [parameter, factored] = bucket.parts[i];
      Cells cells = cells_of(*parameter, "in " + name);
      cells[0].insert(0, "  ");
      if (factored != nullptr)
        cells[4] = std::to_string(
            share_bytes(*factored, last != nullptr ? last->elements()[i]
                                                   : factored->total_pairs() * (factored->rows + factored->columns)));
      add(std::move(cells), {});
    }
  }

  // What a rank sends of a parameter in a bucket of factors: of all ranks' elements but one rank's, on average.
  std::size_t share_bytes(const Problem& factored, std::size_t elements) const {
    const auto ranks = static_cast<std::size_t>(transport.size());
    return elements * bytes_on_wire(factored.factor_wire, factored.type) * (ranks - 1) / ranks;
  }

  // The local products of its parts, that are expected.
  double product_seconds(const Bucket& bucket) const {
    double seconds = 0;
    for (const auto& [parameter, factored] : bucket.parts) {
      const Shape& shape = parameter->shape;
      if (parameter->given.factors())
        seconds += machine.product_seconds(static_cast<double>(shape.rows), static_cast<double>(shape.columns),
                                           static_cast<double>(shape.planned_pairs()), data_type<T>);
    }
    return seconds;
  }

  bool is_known_;
  Packing packing_;
  const synchronizer::Buckets<T>& last_;  // as the last step left them
  std::vector<Bucket> buckets_;
  std::vector<Cells> lines_{
      {"parameter", "shape", "policy", "algorithm", "bytes sent", "predicted", "measured", "last", "calls", "waited"}};
  std::size_t bytes_ = 0;  // the sum of what is known
  double seconds_ = 0;
  double measured_seconds_ = 0;  // the sum of what is, of medians
  double compared_seconds_ = 0;  // of them those of which something is predicted, which together is:
  double expected_seconds_ = 0;
};

}  // namespace dsop::synchronizer
