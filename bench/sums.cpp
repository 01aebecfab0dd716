#include "loop_benchmarks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/add.hpp"
#include "memory.hpp"
#include "sparse/merge.hpp"
#include "sparse/wire.hpp"
#include "sparse_inputs.hpp"

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

  bool operator==(const Pair&) const = default;
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

// Two vectors by turns, and what their sums are made in.
template <class T>
struct Sums {
  Sums(std::size_t size, double of_each) : N(size), density(of_each), dense_left(N), dense_right(N) {
    const auto draw = [&](int rank) { return SparseVector<T>(rank, N, density, Distribution::uniform); };
    const auto sets =
        static_cast<int>(std::ceil(std::clamp(forgotten_pairs / (2 * density * static_cast<double>(N)), 1.0, 100.0)));
    std::size_t most_pairs = 0;
    for (int set = 0; set < sets; ++set) {
      operands.push_back({draw(2 * set), draw(2 * set + 1)});
      pairs += operands.back().pairs();
      most_pairs = std::max(most_pairs, operands.back().pairs());
    }
    pairs /= operands.size();
    indices.resize(most_pairs);
    for (auto* const made : {&merged_pairs, &sent_pairs}) made->resize(most_pairs);
    values.resize(most_pairs);
    sent.resize(sparse::packed_bytes<T>(N, most_pairs));
    memory.resize(std::max(N, 2 * most_pairs));
    sparse::expand<T>(operands[0].left.view(), dense_left);
    sparse::expand<T>(operands[0].right.view(), dense_right);
  }

  SparseVectorView<T> ours(const Operands<T>& of) { return sparse::merge<T>(of.left.view(), of.right.view(), memory); }
  SparseVectorView<T> plain(const Operands<T>& of) {
    return plain_merge<T>(of.left.view(), of.right.view(), indices, values);
  }
  std::span<Pair<T>> interleaved_merge(const Operands<T>& of) {
    return plain_merge<T>(of.left_pairs, of.right_pairs, merged_pairs);
  }
  const Operands<T>& turn() { return operands[next++ % operands.size()]; }
  void pack(const SparseVectorView<T>& sum) { sparse::pack(sum, {0, N}, std::span(sent)); }

  std::size_t N;
  double density;
  std::vector<Operands<T>> operands;
  std::size_t next = 0;
  std::size_t pairs = 0;  // of two vectors, on average
  std::vector<Index> indices;
  std::vector<T> values;
  std::vector<Pair<T>> merged_pairs, sent_pairs;
  std::vector<std::byte> sent;
  std::vector<T> memory, dense_left, dense_right;
};

enum Contenders : std::size_t { by_ours, by_plain, by_dense = 6 };

template <class T>
Columns shown(const Row& row, const Sums<T>& sums) {
  const auto other = [&](Contenders which) -> const Row& { return *(*row.among)[which]; };
  const auto of_pair = [&](Contenders which) {
    return other(which).median_seconds() / static_cast<double>(std::max(sums.pairs, std::size_t{1}));
  };
  const double of_element = other(by_dense).median_seconds() / static_cast<double>(sums.N);
  std::vector<double> times_faster = other(by_plain).samples.observations();  // round by round, as they take turns
  std::ranges::transform(times_faster, other(by_ours).samples.observations(), times_faster.begin(), std::divides<>());
  const Interval interval = median_interval(times_faster);
  return Columns{{"type", 6, "type", name(data_type<T>)},
                 {"N", 11, "size", sums.N},
                 {"density", 9, "density", sums.density, {1, 4}},
                 {"sparse", 9, "", of_pair(by_ours), nanoseconds},
                 {"plain", 9, "", of_pair(by_plain), nanoseconds},
                 {"dense", 9, "", of_element, nanoseconds},
                 {"x plain", 9, "", median(times_faster), two_decimals},
                 {"low", 7, "", interval.low, two_decimals},
                 {"high", 7, "", interval.high, two_decimals},
                 {"factor", 9, "", of_pair(by_ours) / of_element, two_decimals},
                 {"meet", 9, "", of_element / of_pair(by_ours) / 2, {1, 4}},
                 field("pairs", sums.pairs),
                 field("contender", row.label)} +
         loop_fields(row);
}

template <class T>
Rows rows_of(std::size_t size, double density) {
  const auto of = std::make_shared<Sums<T>>(size, density);
  Rows rows;
  const auto add = [&](const std::string& name, const std::function<void()>& call) -> FunctionRow& {
    return add_loop(rows, name, call, [of](const Row& row) { return shown(row, *of); });
  };
  // `made` makes the sum of two vectors that is compared with the plain merge's.
  const auto count_wrong = [of](const auto& made) {
    std::size_t wrong_pairs = 0;
    for (const Operands<T>& each : of->operands)
      if (!std::ranges::equal(made(each), interleaved(of->plain(each)))) wrong_pairs += each.pairs();
    return wrong_pairs;
  };
  add("sparse", [of] { of->ours(of->turn()); }).check = [=] {
    return count_wrong([of](const Operands<T>& each) { return interleaved(of->ours(each)); });
  };
  add("plain merge", [of] { of->plain(of->turn()); });
  add("interleaved merge", [of] { of->interleaved_merge(of->turn()); }).check = [=] {
    return count_wrong([of](const Operands<T>& each) { return of->interleaved_merge(each); });
  };
  add("sparse, packed", [of] { of->pack(of->ours(of->turn())); });
  add("plain merge, packed", [of] { of->pack(of->plain(of->turn())); });
  add("interleaved merge, packed",
      [of] { std::ranges::copy(of->interleaved_merge(of->turn()), of->sent_pairs.begin()); });
  add("dense", [of] { kernels::add<T>(std::span(of->memory).first(of->N), of->dense_left, of->dense_right); });
  return rows;
}

}  // namespace

void sum_benchmark(const SumOptions& options) {
  std::size_t value_bytes = 0;
  for (const DataType type : types_named(options.dtype)) value_bytes = std::max(value_bytes, bytes_of(type));
  check_memory(options.size * (11 * value_bytes + 10 * sizeof(Index)));
  Family family{
      .name = "sums",
      .title = "kernel --sums: two vectors of N elements, indices equally likely, one thread, " +
               std::to_string(options.iterations) + " rounds",
      .notes =
          {"ns: median time; sparse: ours, plain: a merge of two pointers, of a pair of index and value; dense: of "
           "an element",
           "which vectors are merged changes from call to call, so that no branch is known beforehand",
           "x plain: how many times faster than the plain merge, round by round, with the 95 % interval of the "
           "median",
           "factor: elements added dense in the time of a pair; meet: the density of both vectors at which both "
           "take as long"},
      .one_line = true};
  for (const double density : {0.0001, 0.001, 0.01, 0.0625, 0.125, 0.25})
    add_inputs(family, "density " + std::to_string(density), options.dtype,
               [&options, density]<class T>() { return rows_of<T>(options.size, density); });
  benchmark_loops(family, options);
}

}  // namespace dsop::bench
