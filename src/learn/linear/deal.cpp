#include "learn/linear/deal.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "learn/tasks/order.hpp"
#include "patterns/all_to_all.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {
namespace {

/// A sample on its way: its place, its number of elements, its label, and each element's index and value in one number.
using Packed = std::vector<std::uint64_t>;
constexpr std::size_t head_numbers = 3;

void pack(const SparseSamples& samples, std::size_t i, std::size_t place, Packed& packed) {
  const std::size_t first = samples.row_offsets[i];
  const std::size_t last = samples.row_offsets[i + 1];
  packed.insert(packed.end(), {place, last - first, std::bit_cast<std::uint32_t>(samples.labels[i])});
  for (std::size_t e = first; e < last; ++e)
    packed.push_back(std::uint64_t{samples.indices[e]} << 32U | std::bit_cast<std::uint32_t>(samples.values[e]));
}

void unpack(const std::uint64_t* packed, SparseSamples& samples) {
  samples.labels.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(packed[2])));
  for (const std::uint64_t element : std::span(packed + head_numbers, packed[1])) {
    samples.indices.push_back(static_cast<std::uint32_t>(element >> 32U));
    samples.values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(element)));
  }
  samples.row_offsets.push_back(samples.indices.size());
}

void append(SparseSamples& samples, const SparseSamples& from, std::size_t i) {
  const auto first = static_cast<std::ptrdiff_t>(from.row_offsets[i]);
  const auto last = static_cast<std::ptrdiff_t>(from.row_offsets[i + 1]);
  samples.labels.push_back(from.labels[i]);
  samples.indices.insert(samples.indices.end(), from.indices.begin() + first, from.indices.begin() + last);
  samples.values.insert(samples.values.end(), from.values.begin() + first, from.values.begin() + last);
  samples.row_offsets.push_back(samples.indices.size());
}

/// What every rank has for this one.
std::vector<Packed> exchange_samples(Transport& transport, const std::vector<Packed>& to) {
  const auto ranks = static_cast<std::size_t>(transport.size());
  const auto own = static_cast<std::size_t>(transport.rank());
  std::vector<std::uint64_t> sizes_to(ranks);
  std::transform(to.begin(), to.end(), sizes_to.begin(), [](const Packed& packed) { return packed.size(); });
  std::vector<std::uint64_t> sizes_from = sizes_to;
  const auto at = [](auto& items) {
    return [&items](int rank) { return std::span(items).subspan(static_cast<std::size_t>(rank), 1); };
  };
  patterns::staggered_all_to_all(transport, at(sizes_to), at(sizes_from));
  std::vector<Packed> from(ranks);
  for (std::size_t q = 0; q < ranks; ++q) from[q].resize(sizes_from[q]);
  patterns::staggered_all_to_all(
      transport, [&](int rank) { return std::span(to[static_cast<std::size_t>(rank)]); },
      [&](int rank) { return std::span(from[static_cast<std::size_t>(rank)]); });
  from[own] = to[own];
  return from;
}

/// Sends each sample to the worker of its place.
SparseSamples to_places(Transport& transport, const SparseSamples& own, std::span<const std::size_t> places,
                        Workers workers) {
  std::vector<Packed> to(static_cast<std::size_t>(transport.size()));
  for (std::size_t i = 0; i < own.count(); ++i) {
    const std::size_t worker = places[i] % static_cast<std::size_t>(workers.count);
    pack(own, i, places[i], to[static_cast<std::size_t>(workers.first) + worker]);
  }
  const std::vector<Packed> from = exchange_samples(transport, to);

  std::vector<const std::uint64_t*> hand;
  for (const Packed& packed : from)
    for (std::size_t n = 0; n < packed.size(); n += head_numbers + packed[n + 1]) hand.push_back(&packed[n]);
  std::sort(hand.begin(), hand.end(), [](const auto* a, const auto* b) { return a[0] < b[0]; });
  SparseSamples samples;
  for (const std::uint64_t* const packed : hand) unpack(packed, samples);
  return samples;
}

}  // namespace

SparseSamples deal(Transport& transport, const SparseSamples& own, Workers workers, std::uint64_t seed) {
  const std::vector<std::size_t> counts = patterns::of_all_ranks(transport, own.count());
  const std::size_t first = std::accumulate(counts.begin(), counts.begin() + transport.rank(), std::size_t{0});
  constexpr std::size_t before_epochs = 0;  // they are counted from 1, and have orders of their own
  const std::vector<std::size_t> places =
      shuffled(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), seed, before_epochs);
  return to_places(transport, own, std::span(places).subspan(first, own.count()), workers);
}

SparseSamples deal_again(Transport& transport, const SparseSamples& dealt, Workers workers, std::uint64_t seed,
                         std::size_t epoch) {
  const std::vector<std::size_t> counts = patterns::of_all_ranks(transport, dealt.count());
  const std::vector<std::size_t> order =
      shuffled(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), seed, epoch);
  std::vector<std::size_t> places;
  const auto own = static_cast<std::size_t>(transport.rank() - workers.first);
  for (std::size_t i = 0; i < dealt.count(); ++i)
    places.push_back(order[own + i * static_cast<std::size_t>(workers.count)]);
  return to_places(transport, dealt, places, workers);
}

SparseSamples shuffle(const SparseSamples& dealt, std::uint64_t seed, std::size_t epoch) {
  const std::vector<std::size_t> places = shuffled(dealt.count(), seed, epoch);
  std::vector<std::size_t> at(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) at[places[i]] = i;
  SparseSamples samples;
  for (const std::size_t i : at) append(samples, dealt, i);
  return samples;
}

}  // namespace dsop::learn
