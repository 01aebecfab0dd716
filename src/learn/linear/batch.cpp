#include "learn/linear/batch.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

namespace dsop::learn {
namespace {

struct Sample {
  std::span<const std::uint32_t> places;
  std::span<const float> values;
  float label;
};

Sample sample(const SparseSamples& rows, std::size_t i) {
  const std::size_t first = rows.row_offsets[i];
  const std::size_t count = rows.row_offsets[i + 1] - first;
  return {std::span(rows.indices).subspan(first, count), std::span(rows.values).subspan(first, count), rows.labels[i]};
}

float score(const Sample& x, std::span<const float> weights) {
  float z = 0;
  for (std::size_t e = 0; e < x.places.size(); ++e) z += weights[x.places[e]] * x.values[e];
  return z;
}

// Reads and writes of one element are whole, nothing more.
float load(float& element) {
  return std::atomic_ref(element).load(std::memory_order_relaxed);
}
void add(float& element, float summand) {
  std::atomic_ref(element).store(load(element) + summand, std::memory_order_relaxed);
}

double hogwild(const Batch& batch, const LinearLoss& loss, std::span<float> weights, float step, std::size_t first,
               std::size_t stride, std::span<float> gradient) {
  double sum = 0;
  for (std::size_t i = first; i < batch.rows.count(); i += stride) {
    const Sample x = sample(batch.rows, i);
    float z = 0;
    for (std::size_t e = 0; e < x.places.size(); ++e) z += load(weights[x.places[e]]) * x.values[e];
    sum += loss.value(z, x.label);
    const auto slope = static_cast<float>(loss.slope(z, x.label));
    for (std::size_t e = 0; e < x.places.size(); ++e) {
      add(gradient[x.places[e]], slope * x.values[e]);
      add(weights[x.places[e]], -step * slope * x.values[e]);
    }
  }
  return sum;
}

/// The sum of work(thread) over threads 0 .. team-1, which run at the same time, in their order.
template <class Work>
double sum_of_threads(std::size_t team, const Work& work) {
  std::vector<double> sums(team);
  std::vector<std::jthread> others;
  for (std::size_t thread = 1; thread < team; ++thread)
    others.emplace_back([&, thread] { sums[thread] = work(thread); });
  sums[0] = work(0);
  others.clear();
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

Batch make_batch(const SparseSamples& samples, std::size_t first, std::size_t last) {
  const auto begin = static_cast<std::ptrdiff_t>(samples.row_offsets[first]);
  const auto end = static_cast<std::ptrdiff_t>(samples.row_offsets[last]);
  Batch batch;
  batch.columns.assign(samples.indices.begin() + begin, samples.indices.begin() + end);
  std::sort(batch.columns.begin(), batch.columns.end());
  batch.columns.erase(std::unique(batch.columns.begin(), batch.columns.end()), batch.columns.end());
  for (std::size_t i = first; i < last; ++i) {
    const Sample x = sample(samples, i);
    for (const std::uint32_t index : x.places)
      batch.rows.indices.push_back(static_cast<std::uint32_t>(
          std::lower_bound(batch.columns.begin(), batch.columns.end(), index) - batch.columns.begin()));
    batch.rows.values.insert(batch.rows.values.end(), x.values.begin(), x.values.end());
    batch.rows.labels.push_back(x.label);
    batch.rows.row_offsets.push_back(batch.rows.indices.size());
  }
  return batch;
}

void gather(std::span<const float> weights, std::span<const std::uint32_t> columns, std::vector<float>& own) {
  own.resize(columns.size());
  std::transform(columns.begin(), columns.end(), own.begin(),
                 [&](std::uint32_t column) { return column < weights.size() ? weights[column] : 0; });
}

Evaluation evaluate(const Batch& batch, const LinearLoss& loss, std::span<const float> own_weights) {
  Evaluation result;
  for (std::size_t i = 0; i < batch.rows.count(); ++i) {
    const Sample x = sample(batch.rows, i);
    const float z = score(x, own_weights);
    result.loss += loss.value(z, x.label);
    if (z > 0 ? x.label > 0 : x.label < 0) ++result.correct;
  }
  return result;
}

double compute_gradient(const Batch& batch, const LinearLoss& loss, std::span<const float> own_weights, int threads,
                        std::vector<float>& gradient) {
  const std::size_t columns = batch.columns.size();
  const auto team = static_cast<std::size_t>(threads);
  gradient.assign(columns * team, 0);
  const double sum = sum_of_threads(team, [&](std::size_t thread) {
    const std::span<float> own = std::span(gradient).subspan(columns * thread, columns);
    double losses = 0;
    for (std::size_t i = thread; i < batch.rows.count(); i += team) {
      const Sample x = sample(batch.rows, i);
      const float z = score(x, own_weights);
      losses += loss.value(z, x.label);
      const auto slope = static_cast<float>(loss.slope(z, x.label));
      for (std::size_t e = 0; e < x.places.size(); ++e) own[x.places[e]] += slope * x.values[e];
    }
    return losses;
  });
  for (std::size_t thread = 1; thread < team; ++thread)
    for (std::size_t e = 0; e < columns; ++e) gradient[e] += gradient[columns * thread + e];
  gradient.resize(columns);
  return sum;
}

double compute_gradient_by_hogwild(const Batch& batch, const LinearLoss& loss, std::span<float> own_weights,
                                   double step, int threads, std::vector<float>& gradient) {
  gradient.assign(batch.columns.size(), 0);
  const auto team = static_cast<std::size_t>(threads);
  return sum_of_threads(team, [&](std::size_t thread) {
    return hogwild(batch, loss, own_weights, static_cast<float>(step), thread, team, std::span(gradient));
  });
}

}  // namespace dsop::learn
