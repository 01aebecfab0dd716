#include "synchronizer/description.hpp"

#include <algorithm>
#include <cstdio>

#include <dsop/types.hpp>

#include "algorithms/dense/operation.hpp"
#include "call/communicator.hpp"
#include "synchronizer/parameter.hpp"

namespace dsop::synchronizer {
namespace {

std::string time_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
  return text;
}

}  // namespace

template <class T>
typename Description<T>::Cells Description<T>::cells_of(const Parameter<T>& parameter, const std::string& algorithm) {
  const Shape& shape = parameter.shape;
  return {parameter.name, std::to_string(shape.rows) + " x " + std::to_string(shape.columns), parameter.policy.text,
          algorithm};
}

template <class T>
void Description<T>::add(Cells cells, const std::optional<Predicted>& predicted) {
  if (predicted) {
    cells[4] = std::to_string(predicted->bytes);
    cells[5] = time_text(predicted->seconds);
    bytes_ += predicted->bytes;
    seconds_ += predicted->seconds;
  }
  lines_.push_back(std::move(cells));
}

template <class T>
void Description<T>::alone(const Parameter<T>& parameter, const std::string& algorithm,
                           const std::optional<Predicted>& predicted) {
  add(cells_of(parameter, algorithm), predicted);
}

template <class T>
void Description<T>::in_bucket(const Parameter<T>& parameter, const BucketKey& bucket_key) {
  const auto place = packing_.place(parameter.elements() * sizeof(T), bucket_key.text());
  if (place.is_first) buckets_.push_back({bucket_key.algorithm});
  buckets_[place.bucket].parts.push_back(&parameter);
}

// The local products of its parts, that are expected.
template <class T>
double Description<T>::product_seconds(const Bucket& bucket) const {
  double seconds = 0;
  for (const Parameter<T>* const part : bucket.parts)
    if (part->given.factors())
      seconds +=
          machine.product_seconds(static_cast<double>(part->shape.rows), static_cast<double>(part->shape.columns),
                                  static_cast<double>(part->shape.planned_pairs()), data_type<T>);
  return seconds;
}

template <class T>
void Description<T>::add_bucket(std::size_t b) {
  const Bucket& bucket = buckets_[b];
  DenseProblem problem{.ranks = transport.size(),
                       .type = data_type<T>,
                       .group = kept<CommunicatorState>(transport).ranks.group,
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

template <class T>
std::string Description<T>::text() {
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

#define INSTANTIATE(T) template class Description<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::synchronizer
