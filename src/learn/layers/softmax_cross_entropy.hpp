// Softmax and cross-entropy: how wrong scores are, and the error that goes back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <dsop/views.hpp>

namespace dsop::learn {

/// Over some samples.
struct Loss {
  double sum = 0;           ///< of -log(softmax(scores)[label]), in nats
  std::size_t correct = 0;  ///< samples whose label has the highest score

  Loss& operator+=(const Loss& other) {
    sum += other.sum;
    correct += other.correct;
    return *this;
  }
};

/// The class with the highest score, of equals the first.
template <class T>
std::size_t best_class(std::span<const T> scores) {
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

/// `scores` has a row for each label. Turns each into the error of `weight` times its loss, weight (softmax - one-hot).
template <class T>
Loss softmax_cross_entropy(MatrixView<T> scores, std::span<const std::uint32_t> labels, double weight) {
  Loss loss;
  for (std::size_t i = 0; i < scores.rows; ++i) {
    const std::span<T> row(scores.row(i), scores.columns);
    const std::size_t best = best_class<T>(row);
    const T largest = row[best];
    const T of_label = row[labels[i]];
    double sum = 0;
    for (T& score : row) {
      score = std::exp(score - largest);
      sum += static_cast<double>(score);
    }
    loss.sum += std::log(sum) - static_cast<double>(of_label - largest);
    loss.correct += best == labels[i] ? 1 : 0;
    for (T& score : row) score = static_cast<T>(static_cast<double>(score) * (weight / sum));
    row[labels[i]] -= static_cast<T>(weight);
  }
  return loss;
}

}  // namespace dsop::learn
