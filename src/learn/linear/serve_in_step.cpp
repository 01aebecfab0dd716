// A synchronous server. In each step:
//
//   1. All workers say what they need of its range, and get it.
//   2. The server adds their gradients to the weights, in the order of ranks. Where one was not finite, its worker
//      leaves next; the others are told with the weights of the step that follows, or at the epoch's end.
//
// What breaks is said to all servers in the same step, so they end together.
#include <algorithm>

#include "launch/launch.hpp"
#include "learn/linear/checkpoint.hpp"
#include "learn/linear/server.hpp"

namespace dsop::learn {
namespace {

struct Worker {
  int rank = 0;
  ServerCall call = {};
  std::vector<std::uint32_t> columns = {};
  std::vector<float> elements = {};  ///< weights, then the gradient
  Request request = {};
};

class StepServer {
 public:
  StepServer(Transport& transport, ServerModel& model, const LinearData& data) : transport_(transport), model_(model) {
    for (int v = 0; v < data.workers.count; ++v) workers_.push_back({.rank = data.workers.first + v});
  }

  void serve_epoch(std::size_t steps) {
    for (std::size_t step = 1; step <= steps && !workers_.empty(); ++step) serve_step();
    receive_calls();
  }
  /// What broke in the epoch, alike on all servers; empty if all is well.
  const std::string& error() const { return error_; }
  std::vector<EpochPart> parts() const {
    std::vector<EpochPart> parts;
    for (const Worker& worker : workers_) parts.push_back(worker.call.part);
    return parts;
  }

 private:
  void serve_step() {
    receive_calls();
    for (Worker& worker : workers_) worker.columns.resize(worker.call.columns);
    receive([](Worker& worker) { return std::span(worker.columns); });
    for (Worker& worker : workers_) {
      gather(model_.weights(), worker.columns, worker.elements);
      worker.elements.push_back(error_.empty() ? no_error : error_has_come);
      worker.request = transport_.isend(std::span<const float>(worker.elements), worker.rank);
    }
    wait();
    for (Worker& worker : workers_) worker.elements.pop_back();
    receive([](Worker& worker) { return std::span(worker.elements); });
    double decay_share = 1;
    for (const Worker& worker : workers_) {
      model_.step(worker.call, worker.columns, worker.elements, decay_share);
      decay_share = 0;
    }
    if (!workers_.empty()) model_.show(workers_.front().call);
  }

  /// Those that leave are served no more.
  void receive_calls() {
    receive([](Worker& worker) { return std::span(&worker.call, 1); });
    const auto leaves = [](const Worker& worker) { return worker.call.request == ServerRequest::leaves; };
    for (const Worker& worker : workers_)
      if (leaves(worker) && error_.empty()) error_ = model_.broken(worker.call);
    std::erase_if(workers_, leaves);
  }

  /// Receives message(worker), a span, of all workers.
  template <class Message>
  void receive(Message message) {
    for (Worker& worker : workers_) worker.request = transport_.irecv(message(worker), worker.rank);
    wait();
  }
  void wait() {
    for (Worker& worker : workers_) transport_.wait(worker.request);
  }

  Transport& transport_;
  ServerModel& model_;
  std::vector<Worker> workers_;
  std::string error_;
};

}  // namespace

void serve_in_step(Transport& transport, ServerModel& model, const LinearSettings& settings, const LinearData& data,
                   std::size_t done) {
  StepServer server(transport, model, data);
  for (std::size_t epoch = done + 1; epoch <= settings.epochs; ++epoch) {
    batches_of_epoch(transport, data, settings, epoch);  // the workers' samples change hands
    server.serve_epoch(data.steps);
    if (server.error().empty()) model.collect();
    launch::on_all_ranks(transport, [&] {
      if (!server.error().empty()) throw Error(server.error());
      model.end_epoch(epoch, server.parts());
    });
    write_checkpoint(transport, settings, data, epoch, model.all_weights());
  }
}

}  // namespace dsop::learn
