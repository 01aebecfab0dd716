// What a synchronizer does in a step, as a table.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <sstream>

#include <dsop/types.hpp>

#include "synchronizer/state.hpp"

namespace dsop {
namespace {

using synchronizer::Packing;
using synchronizer::Route;

using Cells = std::array<std::string, 6>;  // name, shape, policy, algorithm, bytes, time

std::string time_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
  return text;
}

/// The table's lines, and the sum of what is known.
class Table {
 public:
  void add(Cells cells, const std::optional<Cost>& cost) {
    if (cost) {
      cells[4] = std::to_string(cost->bytes);
      cells[5] = time_text(cost->seconds());
      bytes_ += cost->bytes;
      seconds_ += cost->seconds();
    }
    lines_.push_back(std::move(cells));
  }
  std::string text() {
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

 private:
  std::vector<Cells> lines_{{"parameter", "shape", "policy", "algorithm", "bytes sent", "predicted"}};
  std::size_t bytes_ = 0;
  double seconds_ = 0;
};

template <class T>
Cells cells_of(const synchronizer::Parameter<T>& parameter, const std::string& algorithm) {
  const Shape& shape = parameter.shape;
  return {parameter.name, std::to_string(shape.rows) + " x " + std::to_string(shape.columns), parameter.policy.text,
          algorithm};
}

template <class T>
struct Sum {
  std::string algorithm;
  std::vector<const synchronizer::Parameter<T>*> parts = {};
};

// What is summed as a dense vector, in buckets or alone.
template <class T>
std::vector<Sum<T>> dense_sums(const std::vector<const synchronizer::Parameter<T>*>& order, std::size_t bucket_bytes) {
  std::vector<Sum<T>> sums;
  Packing packing(bucket_bytes);
  for (const auto* const parameter : order) {
    if (parameter->route() != Route::dense) continue;
    const auto place = packing.place(parameter->elements() * sizeof(T), parameter->company());
    if (place.is_first) sums.push_back({parameter->dense_algorithm()});
    sums[place.bucket].parts.push_back(parameter);
  }
  return sums;
}

// The local products of a sum's parts, that are expected.
template <class T>
double product_seconds(const Sum<T>& sum, const Machine& machine) {
  double seconds = 0;
  for (const auto* const part : sum.parts)
    if (part->given.factors())
      seconds +=
          machine.product_seconds(static_cast<double>(part->shape.rows), static_cast<double>(part->shape.columns),
                                  static_cast<double>(part->shape.planned_pairs()), data_type<T>);
  return seconds;
}

template <class T>
void add_dense(Table& table, const Sum<T>& sum, std::size_t b, const DenseProblem& problem, const Machine& machine) {
  const DensePlan plan = make_dense_plan(dense_algorithms(), problem, machine, sum.algorithm);
  Cost cost = plan.cost;
  cost.arithmetic_seconds += product_seconds(sum, machine);
  if (sum.parts.size() == 1) return table.add(cells_of(*sum.parts[0], plan.algorithm_text()), cost);
  table.add({"bucket " + std::to_string(b + 1), std::to_string(problem.elements), "", plan.algorithm_text()}, cost);
  for (const auto* const part : sum.parts) {
    Cells cells = cells_of(*part, "in bucket " + std::to_string(b + 1));
    cells[0].insert(0, "  ");
    table.add(cells, {});
  }
}

template <class T>
void add_alone(Table& table, const synchronizer::Parameter<T>& parameter, int ranks, Wire wire,
               const Machine& machine) {
  switch (parameter.route()) {
    case Route::outer_product: {
      const Plan& plan = parameter.outer_product_plan();
      return table.add(cells_of(parameter, plan.algorithm_text()), plan.cost());
    }
    case Route::sparse:
      if (const SparsePlan* const plan = parameter.sparse_plan())
        return table.add(cells_of(parameter, plan->algorithm_text()), plan->cost());
      return table.add(cells_of(parameter, "known after a step"), {});
    case Route::top_k: {
      const std::string& made_by = parameter.last_step.algorithm;
      return table.add(cells_of(parameter, made_by.empty() ? parameter.policy.algorithm : made_by),
                       topk_cost({.elements = parameter.elements(),
                                  .k = parameter.policy.k(parameter.elements()),
                                  .ranks = ranks,
                                  .type = data_type<T>,
                                  .wire = wire},
                                 machine, parameter.policy.algorithm));
    }
    case Route::none:
      return table.add(cells_of(parameter, "not summed"), Cost{});
    case Route::dense:
      return;
  }
}

}  // namespace

template <class T>
std::string Synchronizer<T>::State::describe() const {
  std::vector<const Parameter*> given(order.begin(), order.end());
  if (given.empty())
    for (const auto& parameter : parameters) given.insert(given.begin(), parameter.get());
  const Machine machine = options.machine.value_or(transport.default_machine());
  Table table;
  for (const Parameter* const parameter : given) add_alone(table, *parameter, transport.size(), options.wire, machine);
  const std::vector<Sum<T>> sums = dense_sums<T>(given, options.bucket_bytes);
  for (std::size_t b = 0; b < sums.size(); ++b) {
    DenseProblem problem{0, transport.size(), data_type<T>, transport.has_native_collectives(), options.wire};
    for (const Parameter* const part : sums[b].parts) problem.elements += part->elements();
    add_dense(table, sums[b], b, problem, machine);
  }
  for (const auto& parameter : parameters)
    if (std::find(given.begin(), given.end(), parameter.get()) == given.end())
      table.add(cells_of(*parameter, "not given in the last step"), {});

  std::ostringstream text;
  text << parameters.size() << " parameters in " << name(data_type<T>) << ", " << transport.size()
       << " ranks; machine: " << machine.source << '\n';
  if (runs_at_finish)
    text << "everything runs in finish(): MPI was not initialized with MPI_THREAD_MULTIPLE on every rank\n";
  else if (!options.overlap)
    text << "everything but what is dense-overlapped starts in finish(), as the options say\n";
  if (options.wire != Wire::full) text << "values travel as " << name(options.wire) << '\n';
  return text.str() + table.text();
}

#define INSTANTIATE(T) template std::string Synchronizer<T>::State::describe() const;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
