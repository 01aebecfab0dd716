#include "learn/linear/data.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "launch/launch.hpp"
#include "learn/data/input_file.hpp"
#include "model/mix.hpp"
#include "patterns/bruck_allgather.hpp"

namespace dsop::learn {
namespace {

/// What a rank has read, for all to know.
struct Summary {
  std::uint64_t samples = 0;
  std::uint64_t features = 0;
  bool has_zero = false;
  bool has_minus_one = false;
};

Summary summary_of(Transport& transport, const SparseSamples& own) {
  const auto has = [&](float label) {
    return std::find(own.labels.begin(), own.labels.end(), label) != own.labels.end();
  };
  Summary mine{own.count(), 0, has(0), has(-1)};
  for (const std::uint32_t index : own.indices) mine.features = std::max(mine.features, std::uint64_t{index} + 1);
  std::vector<Summary> all(static_cast<std::size_t>(transport.size()));
  all[static_cast<std::size_t>(transport.rank())] = mine;
  patterns::bruck_allgather<Summary>(transport, all, Tag::agreement);
  return std::accumulate(all.begin(), all.end(), Summary{}, [](const Summary& a, const Summary& b) {
    return Summary{a.samples + b.samples, std::max(a.features, b.features), a.has_zero || b.has_zero,
                   a.has_minus_one || b.has_minus_one};
  });
}

/// This rank's part of a file, and what all have.
SparseSamples read_together(Transport& transport, const std::string& path, Labels labels, int part, int parts,
                            Summary& summary) {
  SparseSamples own;
  launch::on_all_ranks(transport, [&] {
    if (part < parts) own = read_libsvm(path, part, parts, labels);
  });
  summary = summary_of(transport, own);
  launch::on_all_ranks(transport, [&] {
    if (labels == Labels::two_classes && summary.has_zero && summary.has_minus_one)
      fail(path, "has labels -1 and 0, expected -1 and 1, or 0 and 1");
  });
  if (labels == Labels::two_classes) std::replace(own.labels.begin(), own.labels.end(), 0.0F, -1.0F);
  return own;
}

}  // namespace

LinearData read_linear_data(Transport& transport, const LinearSettings& settings) {
  const int r = transport.rank();
  const int P = transport.size();
  LinearData data;
  data.workers = settings.has_server() ? Workers{1, P - 1} : Workers{0, P};
  const auto W = static_cast<std::size_t>(data.workers.count);

  Summary summary;
  const SparseSamples read = read_together(transport, settings.train, settings.loss->labels, r, P, summary);
  launch::on_all_ranks(transport, [&] {
    if (summary.samples < W)
      fail(settings.train, "has " + std::to_string(summary.samples) +
                               " samples, expected at least one for each of the " + std::to_string(W) +
                               " ranks that compute");
    if (summary.features == 0) fail(settings.train, "has no features, expected index:value behind some label");
  });
  data.samples = summary.samples;
  data.features = summary.features;
  const SparseSamples own = deal(transport, read, data.workers, settings.seed);
  for (std::size_t place = 0; place < data.samples; place += settings.batch * W) {
    const std::size_t first = place / W;
    data.batches.push_back(
        make_batch(own, std::min(first, own.count()), std::min(first + settings.batch, own.count())));
    data.batches.back().all_samples = std::min(settings.batch * W, data.samples - place);
  }

  if (!settings.test.empty()) {
    const int parts = settings.has_server() ? 1 : P;
    const SparseSamples test = read_together(transport, settings.test, settings.loss->labels, r, parts, summary);
    data.test = make_batch(test, 0, test.count());
    data.test_samples = summary.samples;
  }
  return data;
}

std::vector<std::size_t> step_order(const LinearData& data, const LinearSettings& settings, std::size_t epoch) {
  std::vector<std::size_t> order(data.batches.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(mix(settings.seed) + epoch));
  return order;
}

}  // namespace dsop::learn
