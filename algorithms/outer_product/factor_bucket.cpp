#include "algorithms/outer_product/factor_bucket.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include <dsop/types.hpp>

#include "algorithms/outer_product/travel.hpp"
#include "base/refuse.hpp"
#include "kernels/outer_product.hpp"
#include "sparse/factor.hpp"

namespace dsop {
namespace {

using Heading = FactorBucketProblem::Heading;

/// The most bytes of a rank's block, if all may ride in the agreement; else 0.
std::size_t piggyback_bytes(const FactorBucketPlan& plan, const std::string& algorithm) {
  const std::size_t bytes = plan.factors.problem.largest_bytes();
  const bool rides = factor_bucket_text(algorithm) == "allgather" && plan.factors.problem.ranks() > 1;
  return rides && SlotLengths::fit(bytes, plan.factors.problem.ranks()) ? bytes : 0;
}

template <class T>
struct Memory {
  Memory(Arena& arena, const FactorBucketPlan& plan)
      : blocks(arena.take<std::byte>(plan.factors.problem.total_bytes())),
        widened(arena.take<T>(plan.problem.factor_wire == Wire::full
                                  ? 0
                                  : std::reduce(plan.problem.elements.begin(), plan.problem.elements.end()))),
        parts(arena.take<Factors<T>>(count(plan.problem) * plan.problem.elements.size())),
        products(arena.take<kernels::Product<T>>(count(plan.problem))) {}

  static std::size_t count(const FactorBucketProblem& problem) { return problem.layers.size() + problem.biases; }

  std::span<std::byte> blocks;  // of all ranks
  std::span<T> widened;         // their elements, where these travel as bf16
  std::span<Factors<T>> parts;  // of each layer, then of each bias, those of each rank
  std::span<kernels::Product<T>> products;
};

/// Writes the factor's rows. Returns where the next go.
template <class T, class Element>
Element* pack_factor(const FactorView<T>& factor, Element* to) {
  const auto& matrix = std::get<MatrixView<const T>>(factor);
  for (std::size_t p = 0; p < matrix.rows; ++p) to = pack(matrix.row(p), matrix.columns, to);
  return to;
}

/// Whether they are one matrix in one memory.
template <class T>
bool are_one(const FactorView<T>& factor, const FactorView<T>& other) {
  const auto* const x = std::get_if<MatrixView<const T>>(&factor);
  const auto* const y = std::get_if<MatrixView<const T>>(&other);
  return x != nullptr && y != nullptr && x->data == y->data && x->rows == y->rows && x->columns == y->columns &&
         x->stride == y->stride;
}

bool some_rank_is_sparse(const Call& call) {
  return call.any([](const Record& record) { return record.may_expand != 0; });
}

}  // namespace

template <class T>
struct FactorBucketCalls<T>::Operation {
  static constexpr bool by_numbers = true;

  const FactorBucketTerms& terms;
  std::span<const BucketLayer<T>> layers;
  std::vector<Heading>& headings;      // of this rank's layers
  std::vector<std::size_t>& elements;  // of each layer, of all ranks
  bool& made_sums;

  static GradientSize size_of(const BucketLayer<T>& layer) { return {layer.gradient.rows, layer.gradient.columns}; }
  static bool is_dense(const BucketLayer<T>& layer) {
    return std::holds_alternative<MatrixView<const T>>(layer.factors.a) &&
           std::holds_alternative<MatrixView<const T>>(layer.factors.b);
  }
  static std::size_t pairs_of(const BucketLayer<T>& layer) { return sparse::rows_of(layer.factors.a); }
  std::size_t biases() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(layers, [](const BucketLayer<T>& layer) { return layer.bias.has_value(); }));
  }

  Call open(Transport& transport) const {
    return {transport, "outer products of a bucket", layers.size(), 1, data_type<T>};
  }

  void check(Call& call) const {
    headings.clear();
    std::size_t own_elements = 0, multiplied_elements = 0;
    for (const BucketLayer<T>& layer : layers) {
      constexpr std::size_t most = FactorBucketProblem::most_pairs;
      if (pairs_of(layer) > most)
        call.check([&] { refuse("the number of pairs", pairs_of(layer), "at most " + std::to_string(most)); });
      headings.push_back({static_cast<std::uint32_t>(pairs_of(layer)), layers_back(&SparseFactors<T>::a),
                          layers_back(&SparseFactors<T>::b)});
      own_elements += elements_of(headings.back(), size_of(layer));
      multiplied_elements += pairs_of(layer) * (layer.gradient.rows + layer.gradient.columns);
      if (!is_dense(layer)) call.record().may_expand = 1;
    }
    call.record().pairs = own_elements & Record::dense;
    call.record().nonzeros_a = multiplied_elements & Record::dense;  // has no other use here
  }

  void say(Call& call) const {
    call.same("algorithm", std::string_view(terms.algorithm))
        .same_unplanned("scale", terms.scale)
        .same("factor_wire", terms.factor_wire)
        .same("the number of layers", layers.size())
        .same("the number of biases", biases());
    for (const BucketLayer<T>& layer : layers)
      call.same("rows", layer.gradient.rows).same("columns", layer.gradient.columns);
    call.same_machine(terms.machine, terms.algorithm == "auto");
    if (factor_bucket_text(terms.algorithm) != "allgather" || call.record().may_expand || call.has_error()) return;
    const std::size_t bytes = call.record().pairs * bytes_on_wire(terms.factor_wire, data_type<T>);
    const std::span<std::byte> slot = call.piggyback(FactorBucketProblem::block_bytes(layers.size(), bytes));
    if (!slot.empty()) pack_own(slot);
  }

  void make(const Call& call, Planned<FactorBucketPlan>& made) const {
    FactorBucketProblem problem{
        .biases = biases(), .type = data_type<T>, .group = call.ranks().group, .factor_wire = terms.factor_wire};
    for (const BucketLayer<T>& layer : layers) problem.layers.push_back(size_of(layer));
    for (const Record& record : call.records()) {
      problem.elements.push_back(record.pairs);
      problem.multiplied_elements += record.nonzeros_a;
      made.packs |= record.pairs > 0;
    }
    made.plan = make_factor_bucket_plan(std::move(problem), call.machine(), terms.algorithm);
    made.text = some_rank_is_sparse(call) ? "none: some are sparse" : factor_bucket_text(terms.algorithm);
    made.memory_bytes = some_rank_is_sparse(call) ? 0 : counted_bytes<Memory>(data_type<T>, made.plan);
  }

  Cost cost(const Call&, const Planned<FactorBucketPlan>& made) const { return made.plan.cost; }

  void run(Call& call, const Planned<FactorBucketPlan>& made) const {
    made_sums = !some_rank_is_sparse(call);
    if (!made_sums) return;
    const FactorBucketPlan& plan = made.plan;
    const std::size_t largest_bytes = piggyback_bytes(plan, terms.algorithm);
    call.expect_piggyback(largest_bytes);
    Arena arena(call.memory(made.memory_bytes));
    const Memory<T> memory(arena, plan);
    const AllgatherProblem& blocks = plan.factors.problem;
    const auto block = [&](int r) {
      return memory.blocks.subspan(blocks.bounds_bytes[static_cast<std::size_t>(r)], blocks.bytes(r));
    };
    const bool rode = largest_bytes > 0 && call.all_piggyback();
    if (rode) {
      const std::size_t room = SlotLengths::with_record(largest_bytes) - sizeof(Record);
      call.count_piggybacked(static_cast<std::size_t>(blocks.ranks() - 1) * room);
    } else {
      pack_own(block(call.transport().rank()));
      allgather(call.transport(), plan.factors, memory.blocks);
    }
    elements.assign(layers.size(), 0);
    std::span<T> widened = memory.widened;
    for (int r = 0; r < blocks.ranks(); ++r) {
      const std::byte* const received = rode ? call.piggybacked(r).data() : block(r).data();
      take_block(received, plan.problem, static_cast<std::size_t>(r), widened, memory.parts);
    }
    make_list(memory);
    const TracedSpan span("products");
    kernels::products<T>(memory.products, call.shared_method().instructions);
  }

 private:
  /// How many layers before the next one stands one with the same factor; 0: none.
  std::uint16_t layers_back(FactorView<T> SparseFactors<T>::*factor) const {
    const std::size_t i = headings.size();
    for (std::size_t back = 1; back <= std::min(i, FactorBucketProblem::most_back); ++back)
      if (are_one(layers[i].factors.*factor, layers[i - back].factors.*factor)) return static_cast<std::uint16_t>(back);
    return 0;
  }

  /// Those that travel for a layer.
  static std::size_t elements_of(const Heading& heading, const GradientSize& size) {
    return heading.pairs * ((heading.a_back == 0 ? size.rows : 0) + (heading.b_back == 0 ? size.columns : 0));
  }

  void pack_own(std::span<std::byte> block) const {
    std::ranges::copy(headings, reinterpret_cast<Heading*>(block.data()));
    const auto pack_all = [&]<class Element>(Element* to) {
      for (std::size_t i = 0; i < layers.size(); ++i) {
        if (headings[i].a_back == 0) to = pack_factor(layers[i].factors.a, to);
        if (headings[i].b_back == 0) to = pack_factor(layers[i].factors.b, to);
      }
    };
    std::byte* const factors = block.data() + layers.size() * sizeof(Heading);
    if constexpr (can_travel_as(Wire::bf16, data_type<T>))
      if (terms.factor_wire == Wire::bf16) return pack_all(reinterpret_cast<kernels::Bf16*>(factors));
    pack_all(reinterpret_cast<T*>(factors));
  }

  /// The products, and behind them the biases': those of a column of ones and the errors.
  void make_list(const Memory<T>& memory) const {
    static constexpr T one = 1;
    const std::size_t ranks = memory.parts.size() / memory.products.size();
    const auto parts_of = [&](std::size_t product) { return memory.parts.subspan(product * ranks, ranks); };
    std::size_t next = layers.size();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const BucketLayer<T>& layer = layers[i];
      const std::span<const Factors<T>> own = parts_of(i);
      memory.products[i] = {own, layer.gradient, layer.alpha, layer.beta};
      if (!layer.bias) continue;
      const BucketBias<T>& bias = *layer.bias;
      const std::span<Factors<T>> parts = parts_of(next);
      for (std::size_t r = 0; r < ranks; ++r)
        parts[r] = {{&one, own[r].a.rows, 1, 0}, bias.errors_are_a ? own[r].a : own[r].b};
      memory.products[next++] = {parts, bias.gradient, bias.alpha, bias.beta};
    }
  }

  /// The layers' factors in rank r's block. What has travelled as bf16 is written in full to the beginning of
  /// `widened`, which becomes what is left of it.
  void take_block(const std::byte* block, const FactorBucketProblem& problem, std::size_t r, std::span<T>& widened,
                  std::span<Factors<T>> parts) const {
    const std::span<const Heading> theirs(reinterpret_cast<const Heading*>(block), layers.size());
    const std::byte* const travelled = block + theirs.size_bytes();
    const T* next = reinterpret_cast<const T*>(travelled);
    if constexpr (can_travel_as(Wire::bf16, data_type<T>))
      if (problem.factor_wire == Wire::bf16) {
        const std::span<T> own = widened.first(problem.elements[r]);
        kernels::widen(own, {reinterpret_cast<const kernels::Bf16*>(travelled), own.size()});
        widened = widened.subspan(own.size());
        next = own.data();
      }
    const auto part = [&](std::size_t i) -> Factors<T>& { return parts[i * problem.elements.size() + r]; };
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto [k, a_back, b_back] = theirs[i];
      const auto [n, m] = size_of(layers[i]);
      elements[i] += elements_of(theirs[i], size_of(layers[i]));
      part(i).a = a_back != 0 ? part(i - a_back).a : MatrixView<const T>(std::exchange(next, next + k * n), k, n);
      part(i).b = b_back != 0 ? part(i - b_back).b : MatrixView<const T>(std::exchange(next, next + k * m), k, m);
    }
  }
};

template <class T>
bool FactorBucketCalls<T>::run(Transport& transport, const FactorBucketTerms& terms,
                               std::span<const BucketLayer<T>> layers) {
  bool made_sums = false;
  planned_.run(transport, Operation{terms, layers, headings_, elements_, made_sums});
  return made_sums;
}

#define INSTANTIATE(T) template class FactorBucketCalls<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
