#include "measure.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "collect.hpp"
#include "inputs.hpp"
#include "launch/launch.hpp"
#include "memory.hpp"
#include "planning/workspace.hpp"

namespace dsop::bench {
namespace {

constexpr std::uint64_t seed = 1;

// Elements of G that differ from a plain sum over all ranks' factors, whole numbers, with ==.
template <class T>
std::size_t count_wrong(const Transport& transport, const Point& point, MatrixView<const T> G) {
  std::vector<InputFactors<T>> all;
  for (int rank = 0; rank < transport.size(); ++rank)
    all.emplace_back(seed, rank, point.pairs, point.rows, point.columns);
  std::size_t wrong = 0;
  std::vector<T> expected(point.columns);
  for (std::size_t i = 0; i < point.rows; ++i) {
    std::fill(expected.begin(), expected.end(), T{0});
    for (const InputFactors<T>& factors : all) add_reference_row<T>(factors.view(), i, T{1}, expected);
    for (std::size_t j = 0; j < point.columns; ++j) wrong += G.row(i)[j] == expected[j] ? 0 : 1;
  }
  return wrong;
}

}  // namespace

std::vector<double> Measurement::iteration_seconds() const {
  std::vector<double> slowest;
  for (const std::vector<double>& ranks : seconds) slowest.push_back(*std::max_element(ranks.begin(), ranks.end()));
  return slowest;
}

template <class T>
std::vector<Measurement> measure(Transport& transport, const Point& point, const std::vector<std::string>& algorithms,
                                 const Protocol& protocol) {
  CountingTransport counted(transport);
  std::vector<OuterProduct<T>> layers;  // first: they refuse sizes that no memory could hold
  for (const std::string& algorithm : algorithms)
    layers.emplace_back(counted, Shape{point.rows, point.columns, point.pairs},
                        Options{.algorithm = algorithm, .machine = protocol.machine});
  std::size_t needed_bytes = (point.rows * point.columns + point.pairs * (point.rows + point.columns)) * sizeof(T);
  for (const OuterProduct<T>& layer : layers) needed_bytes += layer.plan().workspace_bytes;
  check_memory(transport, needed_bytes);
  std::optional<InputFactors<T>> own;
  Workspace<T> gradient;
  launch::on_all_ranks(transport, [&] {
    own.emplace(seed, transport.rank(), point.pairs, point.rows, point.columns);
    gradient.resize(point.rows * point.columns * sizeof(T));
  });
  const MatrixView<T> G(gradient.elements().data(), point.rows, point.columns);

  std::vector<Measurement> measurements;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (protocol.progress) protocol.progress(algorithms[i], 0);
    if (protocol.verify) std::ranges::fill(gradient.elements(), std::numeric_limits<T>::quiet_NaN());
    const Traffic before = counted.payload();
    layers[i].run(own->view(), G);  // also warms up: memory is touched, connections are made
    const Traffic after = counted.payload();

    Measurement& row = measurements.emplace_back(Measurement{algorithms[i], layers[i].plan(), {}, {}, {}});
    row.busiest = {largest_of_all_ranks(transport, after.messages - before.messages),
                   largest_of_all_ranks(transport, after.bytes - before.bytes)};
    if (!protocol.verify) continue;
    const std::vector<std::size_t> wrong = of_all_ranks(transport, count_wrong<T>(transport, point, G));
    row.wrong = std::accumulate(wrong.begin(), wrong.end(), std::size_t{0});
  }

  for (int iteration = 0; iteration < protocol.iterations; ++iteration)
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (protocol.progress) protocol.progress(algorithms[i], iteration + 1);
      const double seconds = seconds_of(transport, [&] { layers[i].run(own->view(), G); });
      measurements[i].seconds.push_back(of_all_ranks(transport, seconds));
    }
  return measurements;
}

template std::vector<Measurement> measure<float>(Transport&, const Point&, const std::vector<std::string>&,
                                                 const Protocol&);
template std::vector<Measurement> measure<double>(Transport&, const Point&, const std::vector<std::string>&,
                                                  const Protocol&);

}  // namespace dsop::bench
