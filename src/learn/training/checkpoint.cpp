#include "learn/training/checkpoint.hpp"

#include <optional>
#include <sstream>
#include <string_view>

#include <dsop/collectives.hpp>

#include "launch/launch.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {
namespace {

void send_bytes(Transport& transport, std::string_view bytes, int to) {
  const std::uint64_t size = bytes.size();
  transport.send(std::span(&size, 1), to);
  transport.send(std::span(bytes), to);
}

std::string receive_bytes(Transport& transport, int from) {
  std::uint64_t size = 0;
  transport.recv(std::span(&size, 1), from);
  std::string bytes(size, '\0');
  transport.recv(std::span(bytes), from);
  return bytes;
}

/// Every rank's bytes, in the order of ranks, on rank 0; nothing on others.
std::vector<std::string> bytes_of_all(Transport& transport, const std::string& own) {
  if (transport.rank() != 0) {
    send_bytes(transport, own, 0);
    return {};
  }
  std::vector<std::string> all{own};
  for (int r = 1; r < transport.size(); ++r) all.push_back(receive_bytes(transport, r));
  return all;
}

std::string body_of(const Progress& progress, const Saved& run, const std::vector<std::string>& strategies) {
  std::string body = begin_body(run.identity);
  append(body, progress.step);
  append(body, progress.epoch_loss);
  append(body, run.optimizer.steps());
  for (const Parameter<float>* const p : run.optimizer.parameters()) append_array<float>(body, p->value.elements());
  for (const Matrix<float>& memory : run.optimizer.state()) append_array<float>(body, memory.elements());
  for (const std::string& strategy : strategies) append_array<char>(body, strategy);
  return body;
}

}  // namespace

std::string bytes_of_first(Transport& transport, const std::vector<std::string_view>& all) {
  if (transport.rank() != 0) return receive_bytes(transport, 0);
  for (int r = 1; r < transport.size(); ++r) send_bytes(transport, all[static_cast<std::size_t>(r)], r);
  return std::string(all.front());
}

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
  struct Head {
    Progress progress = {};
    std::uint64_t optimizer_steps = 0;
  } head;
  std::optional<CheckpointReader> file;
  std::vector<std::string_view> strategies;
  launch::on_all_ranks(transport, [&] {
    if (transport.rank() != 0) return;
    file.emplace(path, run.identity);
    head.progress.step = file->number<std::uint64_t>();
    head.progress.epoch_loss = file->number<double>();
    head.optimizer_steps = file->number<std::uint64_t>();
    for (Parameter<float>* const p : run.optimizer.parameters()) file->elements(p->value.elements());
    for (Matrix<float>& memory : run.optimizer.state()) file->elements(memory.elements());
    for (int r = 0; r < transport.size(); ++r) strategies.push_back(file->bytes());
  });
  head = patterns::of_all_ranks(transport, head).front();
  run.optimizer.steps() = head.optimizer_steps;
  for (Parameter<float>* const p : run.optimizer.parameters()) broadcast(transport, p->value.elements(), 0);
  for (Matrix<float>& memory : run.optimizer.state()) broadcast(transport, memory.elements(), 0);
  std::istringstream in(bytes_of_first(transport, strategies));
  run.strategy.load(in, head.progress.step);
  if (file) say_other_options(path, file->other_options());
  return head.progress;
}

}  // namespace dsop::learn
