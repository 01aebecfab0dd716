#include "learn/linear/data.hpp"

#include <algorithm>
#include <bit>
#include <iomanip>
#include <numeric>
#include <sstream>

#include "algorithms/sparse/algorithm.hpp"
#include "base/fnv.hpp"
#include "base/mix.hpp"
#include "launch/launch.hpp"
#include "launch/memory.hpp"
#include "launch/mpi_world.hpp"
#include "learn/data/input_file.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {
namespace {

/// What a rank has read, for all to know.
struct Summary {
  std::uint64_t samples = 0;
  std::uint64_t features = 0;
  std::uint64_t widest = 0;  ///< the first sample, from 1, that has the last of the features
  std::uint64_t labels = 0;  ///< that occur: bit l + 1 stands for label l
  std::uint64_t hash = 0;    ///< of all that was read
};

/// A sum over samples, each with its place in the file, of which `first` is the first one's: so it does not depend on
/// how many ranks have read them.
std::uint64_t hash_of(const SparseSamples& samples, std::uint64_t first) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    std::uint64_t hash = fnv(fnv(fnv_start, first + i), std::bit_cast<std::uint32_t>(samples.labels[i]));
    for (std::size_t e = samples.row_offsets[i]; e < samples.row_offsets[i + 1]; ++e)
      hash = fnv(fnv(hash, samples.indices[e]), std::bit_cast<std::uint32_t>(samples.values[e]));
    sum += mix(hash);
  }
  return sum;
}

/// Bits of Summary::labels.
constexpr std::uint64_t minus_one = 1, zero = 2, one = 4, two = 8;

std::uint64_t labels_in(const SparseSamples& samples) {
  std::uint64_t labels = 0;
  for (const float label : samples.labels)
    labels |= label == -1 ? minus_one : label == 0 ? zero : label == 1 ? one : label == 2 ? two : 0;
  return labels;
}

std::string list_of(std::uint64_t labels) {
  std::string list;
  for (int label = -1; label <= 2; ++label)
    if ((labels >> (label + 1) & 1) != 0) list += (list.empty() ? "" : " and ") + std::to_string(label);
  return list;
}

/// Of two classes the lower label is -1, the other 1. `labels` are all that occur. `of_train`: those of the file to
/// train on, if that is another, which say what 1 alone is. Throws Error naming `path`.
void make_classes(const std::string& path, std::uint64_t labels, std::uint64_t of_train, std::span<float> own) {
  const bool from_one = ((of_train != 0 ? of_train : labels) & two) != 0;
  if ((labels & minus_one && labels & zero) || (labels & (from_one ? minus_one | zero : two)))
    fail(path, "has labels " + list_of(labels) + ", expected -1 and 1, or 0 and 1, or 1 and 2" +
                   (of_train != 0 ? ": the file to train on has " + list_of(of_train) : ""));
  for (float& label : own) label = label == (from_one ? 2 : 1) ? 1.0F : -1.0F;
}

Summary summary_of(Transport& transport, const SparseSamples& own) {
  const std::vector<std::uint64_t> counts = patterns::of_all_ranks(transport, std::uint64_t{own.count()});
  const std::uint64_t first = std::accumulate(counts.begin(), counts.begin() + transport.rank(), std::uint64_t{0});
  Summary mine{own.count(), 0, 0, labels_in(own), hash_of(own, first)};
  for (std::size_t i = 0; i < own.count(); ++i) {
    const std::size_t end = own.row_offsets[i + 1];
    if (end == own.row_offsets[i] || own.indices[end - 1] < mine.features) continue;
    mine.features = std::uint64_t{own.indices[end - 1]} + 1;
    mine.widest = i + 1;
  }
  const std::vector<Summary> all = patterns::of_all_ranks(transport, mine);
  return std::accumulate(all.begin(), all.end(), Summary{}, [](const Summary& a, const Summary& b) {
    return Summary{a.samples + b.samples, std::max(a.features, b.features),
                   b.features > a.features ? a.samples + b.widest : a.widest, a.labels | b.labels, a.hash + b.hash};
  });
}

/// This rank's part of a file, and what all have. `summary`: in, that of the file to train on if this is another.
SparseSamples read_together(Transport& transport, const std::string& path, Labels labels, int part, int parts,
                            Summary& summary) {
  const OpenFile open = transport.name() == "mpi" ? launch::open_by_mpi : open_plain;
  SparseSamples own;
  std::uint64_t bytes = 0;
  launch::on_all_ranks(transport, [&] {
    if (part < parts) bytes = open(path)->size_bytes();
  });
  const std::uint64_t of_first = patterns::of_all_ranks(transport, bytes).front();
  launch::on_all_ranks(transport, [&] {
    if (part >= parts) return;
    if (bytes != of_first)
      fail(path, "has " + std::to_string(bytes) + " bytes, expected " + std::to_string(of_first) +
                     " as on rank 0: ranks read parts of one file");
    own = read_libsvm(path, part, parts, labels, open);
  });
  const std::uint64_t of_train = summary.labels;
  summary = summary_of(transport, own);
  launch::on_all_ranks(transport, [&] {
    if (labels == Labels::two_classes) make_classes(path, summary.labels, of_train, own.labels);
  });
  return own;
}

/// How many vectors with an element for each feature a rank keeps at most: weights, where the sum is dense that, and
/// an allreduce of all weights may work in another. That `auto` may choose one of these is not foreseen.
std::size_t whole_vectors(const std::string& sync) {
  if (sync.starts_with("dense")) return 3;
  const SparseAlgorithm* const algorithm = sparse_algorithms().find(sync.substr(0, sync.find('(')));
  return algorithm != nullptr && algorithm->makes_dense ? 2 : 1;
}

/// Throws on all ranks if a host has too little memory for what its ranks have an element of for each feature.
void check_memory(Transport& transport, const LinearSettings& settings, const Summary& train) {
  const std::vector<int> ranks = launch::ranks_on_this_host(transport);
  const int servers = settings.servers();
  const auto holders =
      std::count_if(ranks.begin(), ranks.end(), [&](int rank) { return servers == 0 || rank < servers; });
  const bool has_file = ranks.front() == 0 && !(settings.resume.empty() && settings.save.empty());
  launch::on_all_ranks(transport, [&] {
    std::size_t weights = has_file ? train.features : 0;
    for (const int rank : ranks)
      if (servers == 0 || rank == 0)
        weights += whole_vectors(settings.sync) * train.features;
      else if (rank < servers)
        weights += train.features / static_cast<std::size_t>(servers);
    const std::size_t needed = weights * sizeof(float);
    const std::size_t available = settings.host_memory_bytes.value_or(launch::available_memory_bytes());
    if (available == 0 || needed <= available || transport.rank() != ranks.front()) return;
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << "index " << train.features << " of sample " << train.widest
         << " makes as many weights: " << static_cast<double>(needed) / 1e9 << " GB where " << holders
         << " of a host's ranks keep them (--sync " << settings.sync << "), and the host has "
         << static_cast<double>(available) / 1e9
         << " GB available. Number the features from 1 without gaps, hash them to fewer, or use fewer ranks a host";
    fail(settings.train, text.str());
  });
}

}  // namespace

LinearData read_linear_data(Transport& transport, const LinearSettings& settings) {
  const int r = transport.rank();
  const int P = transport.size();
  LinearData data;
  data.workers = Workers{settings.servers(), P - settings.servers()};
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
  check_memory(transport, settings, summary);
  data.samples = summary.samples;
  data.features = summary.features;
  data.hash = summary.hash;
  data.dealt = deal(transport, read, data.workers, settings.seed);
  data.steps = (data.samples + settings.batch * W - 1) / (settings.batch * W);

  if (!settings.test.empty()) {
    const int parts = settings.has_server() ? 1 : P;
    const SparseSamples test = read_together(transport, settings.test, settings.loss->labels, r, parts, summary);
    data.test = make_batch(test, 0, test.count());
    data.test_samples = summary.samples;
  }
  return data;
}

std::vector<Batch> batches_of_epoch(Transport& transport, const LinearData& data, const LinearSettings& settings,
                                    std::size_t epoch) {
  const SparseSamples own = settings.waits_for_all()
                                ? deal_again(transport, data.dealt, data.workers, settings.seed, epoch)
                                : shuffle(data.dealt, settings.seed, epoch);
  const std::size_t all_workers = settings.batch * static_cast<std::size_t>(data.workers.count);
  std::vector<Batch> batches;
  for (std::size_t step = 0; step < data.steps; ++step) {
    const std::size_t first = std::min(step * settings.batch, own.count());
    batches.push_back(make_batch(own, first, std::min(first + settings.batch, own.count())));
    batches.back().all_samples = std::min(all_workers, data.samples - step * all_workers);
  }
  return batches;
}

}  // namespace dsop::learn
