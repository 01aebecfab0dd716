#include "sums.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/add.hpp"
#include "memory.hpp"
#include "rounds.hpp"
#include "sparse/merge.hpp"
#include "sparse/wire.hpp"
#include "sparse_inputs.hpp"
#include "statistics.hpp"
#include "types.hpp"

namespace dsop::bench {
namespace {

using sparse::Index;

/// As anybody would write it, for comparison.
template <class T>
SparseVectorView<T> plain_merge(const SparseVectorView<T>& left, const SparseVectorView<T>& right,
                                std::span<Index> indices, std::span<T> values) {
  std::size_t l = 0;
  std::size_t r = 0;
  std::size_t count = 0;
  const auto put = [&](Index index, T value) {
    indices[count] = index;
    values[count++] = value;
  };
  while (l < left.indices.size() && r < right.indices.size()) {
    if (left.indices[l] < right.indices[r]) {
      put(left.indices[l], left.values[l]);
      ++l;
    } else if (right.indices[r] < left.indices[l]) {
      put(right.indices[r], right.values[r]);
      ++r;
    } else {
      put(left.indices[l], left.values[l] + right.values[r]);
      ++l;
      ++r;
    }
  }
  for (; l < left.indices.size(); ++l) put(left.indices[l], left.values[l]);
  for (; r < right.indices.size(); ++r) put(right.indices[r], right.values[r]);
  return {left.dimension, indices.first(count), values.first(count)};
}

// The thesis's layout of a stream (Renggli 2017, section 4.1.1).
template <class T>
struct Pair {
  Index index;
  T value;
};

/// The plain merge of such.
template <class T>
std::span<Pair<T>> plain_merge(std::span<const Pair<T>> left, std::span<const Pair<T>> right, std::span<Pair<T>> sum) {
  auto l = left.begin();
  auto r = right.begin();
  auto out = sum.begin();
  while (l != left.end() && r != right.end()) {
    if (l->index < r->index) {
      *out++ = *l++;
    } else if (r->index < l->index) {
      *out++ = *r++;
    } else {
      *out++ = {l->index, l->value + r->value};
      ++l;
      ++r;
    }
  }
  out = std::copy(l, left.end(), out);
  out = std::copy(r, right.end(), out);
  return sum.first(static_cast<std::size_t>(out - sum.begin()));
}

template <class T>
std::vector<Pair<T>> interleaved(const SparseVectorView<T>& x) {
  std::vector<Pair<T>> pairs;
  for (std::size_t e = 0; e < x.indices.size(); ++e) pairs.push_back({x.indices[e], x.values[e]});
  return pairs;
}

// Of the second's time over the first's, round by round: rounds are made in turns.
std::vector<double> ratios(const Loop& faster, const Loop& slower) {
  std::vector<double> each(faster.seconds.size());
  std::transform(slower.seconds.begin(), slower.seconds.end(), faster.seconds.begin(), each.begin(), std::divides<>());
  return each;
}

// Before vectors come again: of fewer a processor learns which branch each pair of the plain merge takes, and makes it
// in a quarter of the time that new ones need.
constexpr std::size_t forgotten_pairs = 1 << 16;

template <class T>
struct Operands {
  SparseVector<T> left;
  SparseVector<T> right;
  std::vector<Pair<T>> left_pairs = interleaved(left.view());
  std::vector<Pair<T>> right_pairs = interleaved(right.view());

  std::size_t pairs() const { return left.view().indices.size() + right.view().indices.size(); }
};

template <class T>
std::vector<Operands<T>> draw_operands(std::size_t N, double density) {
  std::vector<Operands<T>> drawn;
  const auto draw = [&](int rank) { return SparseVector<T>(rank, N, density, Distribution::uniform); };
  const double pairs = 2 * density * static_cast<double>(N);
  const auto sets = static_cast<int>(std::ceil(std::clamp(forgotten_pairs / pairs, 1.0, 100.0)));
  for (int set = 0; set < sets; ++set) drawn.push_back({draw(2 * set), draw(2 * set + 1)});
  return drawn;
}

template <class T>
void measure_density(const SumOptions& options, double density, std::ostream& table, std::ostream* json_lines) {
  const std::size_t N = options.size;
  const std::vector<Operands<T>> operands = draw_operands<T>(N, density);
  std::size_t all_pairs = 0;
  std::size_t most_pairs = 0;
  for (const Operands<T>& each : operands) {
    all_pairs += each.pairs();
    most_pairs = std::max(most_pairs, each.pairs());
  }
  const std::size_t pairs = all_pairs / operands.size();
  std::vector<Index> indices(most_pairs);
  std::vector<T> values(most_pairs);
  std::vector<Pair<T>> merged_pairs(most_pairs);
  std::vector<Pair<T>> sent_pairs(most_pairs);
  std::vector<std::byte> sent(sparse::packed_bytes<T>(N, most_pairs));
  std::vector<T> memory(std::max(N, 2 * most_pairs));
  std::vector<T> dense_left(N);
  std::vector<T> dense_right(N);
  sparse::expand<T>(operands[0].left.view(), dense_left);
  sparse::expand<T>(operands[0].right.view(), dense_right);

  const auto ours = [&](const Operands<T>& of) { return sparse::merge<T>(of.left.view(), of.right.view(), memory); };
  const auto plain = [&](const Operands<T>& of) {
    return plain_merge<T>(of.left.view(), of.right.view(), indices, values);
  };
  const auto pairs_merged = [&](const Operands<T>& of) {
    return plain_merge<T>(of.left_pairs, of.right_pairs, merged_pairs);
  };
  const auto ours_packed = [&](const Operands<T>& of) { sparse::pack(ours(of), {0, N}, std::span(sent)); };
  const auto plain_packed = [&](const Operands<T>& of) { sparse::pack(plain(of), {0, N}, std::span(sent)); };
  const auto pairs_packed = [&](const Operands<T>& of) { std::ranges::copy(pairs_merged(of), sent_pairs.begin()); };
  for (const Operands<T>& each : operands) {
    const SparseVectorView<T> made = ours(each);
    const SparseVectorView<T> expected = plain(each);
    const auto is_pair = [](const Pair<T>& one, const Pair<T>& other) {
      return one.index == other.index && one.value == other.value;
    };
    if (!std::ranges::equal(made.indices, expected.indices) || !std::ranges::equal(made.values, expected.values) ||
        !std::ranges::equal(pairs_merged(each), interleaved(expected), is_pair))
      throw std::runtime_error("the sum of two sparse vectors is not the plain merge's");
  }

  const auto by_turns = [&](const auto& merge) {
    return [&merge, &operands, next = std::size_t{0}]() mutable { merge(operands[next++ % operands.size()]); };
  };
  std::vector<Loop> loops{{"sparse", by_turns(ours)},
                          {"plain merge", by_turns(plain)},
                          {"interleaved merge", by_turns(pairs_merged)},
                          {"sparse, packed", by_turns(ours_packed)},
                          {"plain merge, packed", by_turns(plain_packed)},
                          {"interleaved merge, packed", by_turns(pairs_packed)},
                          {"dense", [&] { kernels::add<T>(std::span(memory).first(N), dense_left, dense_right); }}};
  measure_rounds(loops, options.iterations);
  const std::vector<double> times_faster = ratios(loops[0], loops[1]);
  const Interval interval = median_interval(times_faster);
  const double sparse_pair = median(loops[0].seconds) / static_cast<double>(std::max(pairs, std::size_t{1}));
  const double dense_element = median(loops.back().seconds) / static_cast<double>(N);
  const std::string_view type = name(data_type<T>);
  table << std::setw(6) << type << std::setw(11) << N << std::fixed << std::setprecision(4) << std::setw(9) << density
        << std::setprecision(3) << std::setw(9) << sparse_pair * 1e9 << std::setw(9)
        << median(loops[1].seconds) / static_cast<double>(std::max(pairs, std::size_t{1})) * 1e9 << std::setw(9)
        << dense_element * 1e9 << std::setprecision(2) << std::setw(9) << median(times_faster) << std::setw(7)
        << interval.low << std::setw(7) << interval.high << std::setw(9) << sparse_pair / dense_element
        << std::setprecision(4) << std::setw(9) << dense_element / sparse_pair / 2 << '\n'
        << std::flush;
  if (json_lines == nullptr) return;
  for (const Loop& loop : loops) {
    *json_lines << R"({"benchmark": "sums", "type": ")" << type << R"(", "size": )" << N << R"(, "density": )"
                << density << R"(, "pairs": )" << pairs << R"(, "contender": ")" << loop.name << R"(", "seconds": [)"
                << std::scientific << std::setprecision(6);
    for (std::size_t i = 0; i < loop.seconds.size(); ++i) *json_lines << (i == 0 ? "" : ", ") << loop.seconds[i];
    *json_lines << "]}\n" << std::defaultfloat << std::flush;
  }
}

}  // namespace

void sum_benchmark(const SumOptions& options, std::ostream& table, std::ostream* json_lines) {
  const std::vector<DataType> types = types_named(options.dtype);
  std::size_t value_bytes = 0;
  for (const DataType type : types) value_bytes = std::max(value_bytes, bytes_of(type));
  check_memory(options.size * (11 * value_bytes + 10 * sizeof(Index)));
  table
      << "# dsop sums of two vectors of N elements, indices equally likely, one thread, " << options.iterations
      << " rounds\n"
      << "# ns: median time; sparse: ours, plain: a merge of two pointers, of a pair of index and value; dense: of an "
         "element\n"
      << "# which vectors are merged changes from call to call, so that no branch is known beforehand\n"
      << "# x plain: how many times faster than the plain merge, round by round, with the 95 % interval of the median\n"
      << "# factor: elements added dense in the time of a pair; meet: the density of both vectors at which both take "
         "as long\n"
      << "# type          N  density   sparse    plain    dense  x plain    low   high   factor     meet\n";
  for (const double density : {0.0001, 0.001, 0.01, 0.0625, 0.125, 0.25})
    for (const DataType type : types)
      visit(type, [&]<class T>(T) { measure_density<T>(options, density, table, json_lines); });
}

}  // namespace dsop::bench
