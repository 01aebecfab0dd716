// What a synchronizer does in a step, as a table that policies fill.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include <dsop/plan.hpp>
#include <dsop/transport.hpp>

#include "algorithms/dense/operation.hpp"
#include "base/aligned_table.hpp"
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
  /// What named algorithms leave open they take by `of_named`; what all cost is by `machine`, if that `is_known`. Both
  /// must outlive it.
  Description(Transport& transport_, const Machine& machine_, const Machine& of_named_, bool is_known, Wire wire_,
              std::size_t bucket_bytes)
      : transport(transport_),
        machine(machine_),
        of_named(of_named_),
        wire(wire_),
        is_known_(is_known),
        packing_(bucket_bytes) {}

  /// The parameter is summed by itself, or not at all; what that takes, where it is known.
  void alone(const Parameter<T>& parameter, const std::string& algorithm, const std::optional<Predicted>& predicted) {
    add(cells_of(parameter, algorithm), predicted, parameter.name);
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

  // What calls for `names`, by the algorithm in `cells`, took on this rank.
  void add_measured(Cells& cells, const std::string& names) {
    const std::string type(name(data_type<T>));
    for (const LoggedCalls& row : std::views::reverse(attachment<CommunicatorState>(transport).log.rows())) {
      if (row.calls == 0 || row.parameter != names || row.algorithm != cells[3] || !row.operation.ends_with(type))
        continue;
      const Measured measured = row.measured();
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
    std::string names;
    for (const Parameter<T>* const part : bucket.parts) names.append(names.empty() ? "" : ", ").append(part->name);
    add({name, std::to_string(problem.elements), "", plan.algorithm_text()}, predicted, names);
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

  bool is_known_;
  Packing packing_;
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
