#include "learn/training/checkpoint.hpp"

#include <sstream>
#include <string_view>

#include "launch/launch.hpp"

namespace dsop::learn {
namespace {

/// Every rank's bytes, in the order of ranks, on rank 0; nothing on others.
std::vector<std::string> bytes_of_all(Transport& transport, const std::string& own) {
  if (transport.rank() != 0) {
    const std::uint64_t size = own.size();
    transport.send(std::span(&size, 1), 0);
    transport.send(std::span(own), 0);
    return {};
  }
  std::vector<std::string> all{own};
  for (int r = 1; r < transport.size(); ++r) {
    std::uint64_t size = 0;
    transport.recv(std::span(&size, 1), r);
    all.emplace_back(size, '\0');
    transport.recv(std::span(all.back()), r);
  }
  return all;
}

std::string body_of(const Progress& progress, const Saved& run, const std::vector<std::string>& strategies) {
  std::string body = begin_body(run.words);
  append(body, progress.step);
  append(body, progress.epoch_loss);
  append(body, run.optimizer.steps());
  for (const Parameter<float>* const p : run.optimizer.parameters()) append_array<float>(body, p->value.elements());
  for (const Matrix<float>& memory : run.optimizer.state()) append_array<float>(body, memory.elements());
  for (const std::string& strategy : strategies) append_array<char>(body, strategy);
  return body;
}

}  // namespace

void write_checkpoint(Transport& transport, const std::string& path, const Progress& progress, const Saved& run) {
  std::string own;
  launch::on_all_ranks(transport, [&] {
    std::ostringstream strategy;
    run.strategy.save(strategy);
    own = std::move(strategy).str();
  });
  const std::vector<std::string> strategies = bytes_of_all(transport, own);
  launch::on_all_ranks(transport, [&] {
    if (transport.rank() == 0) write_checkpoint_file(path, body_of(progress, run, strategies));
  });
}

Progress read_checkpoint(Transport& transport, const std::string& path, const Saved& run) {
  Progress progress;
  std::string strategy, other_options;
  launch::on_all_ranks(transport, [&] {
    CheckpointReader file(path, run.words);
    other_options = file.other_options();
    progress.step = file.number<std::uint64_t>();
    progress.epoch_loss = file.number<double>();
    run.optimizer.steps() = file.number<std::uint64_t>();
    for (Parameter<float>* const p : run.optimizer.parameters()) file.elements(p->value.elements());
    for (Matrix<float>& memory : run.optimizer.state()) file.elements(memory.elements());
    for (int r = 0; r <= transport.rank(); ++r) strategy = file.bytes();
  });
  std::istringstream in(std::move(strategy));
  run.strategy.load(in);
  if (transport.rank() == 0) say_other_options(path, other_options);
  return progress;
}

}  // namespace dsop::learn
