// The synchronous server. In each step:
//
//   1. All workers say what they need, and get it.
//   2. The server adds their gradients to the weights, in the order of ranks. What is wrong with them it says in the
//      next step, or at the epoch's end.
#include "base/error_of.hpp"
#include "launch/launch.hpp"
#include "learn/linear/checkpoint.hpp"
#include "learn/linear/server.hpp"

namespace dsop::learn {
namespace {

struct Worker {
  ServerCall call = {};
  std::vector<std::uint32_t> columns = {};
  std::vector<float> elements = {};  ///< weights, then the gradient
  Request request = {};
};

class StepServer {
 public:
  StepServer(Transport& transport, const LinearData& data)
      : transport_(transport), first_(data.workers.first), workers_(static_cast<std::size_t>(data.workers.count)) {}

  std::vector<Worker>& workers() { return workers_; }

  /// Receives message(worker), a span, of all workers.
  template <class Message>
  void receive(Message message) {
    for (std::size_t v = 0; v < workers_.size(); ++v)
      workers_[v].request = transport_.irecv(message(workers_[v]), rank(v));
    wait();
  }
  template <class Message>
  void send(Message message) {
    for (std::size_t v = 0; v < workers_.size(); ++v)
      workers_[v].request = transport_.isend(message(workers_[v]), rank(v));
    wait();
  }

 private:
  int rank(std::size_t v) const { return first_ + static_cast<int>(v); }
  void wait() {
    for (Worker& worker : workers_) transport_.wait(worker.request);
  }

  Transport& transport_;
  int first_;
  std::vector<Worker> workers_;
};

}  // namespace

void serve_in_step(Transport& transport, ServerModel& model, const LinearSettings& settings, const LinearData& data,
                   std::size_t done) {
  StepServer server(transport, data);
  const auto call_of = [](Worker& worker) { return std::span(&worker.call, 1); };
  const auto elements_of = [](Worker& worker) { return std::span(worker.elements); };
  std::string error;  // of the step before
  const auto expect_none = [&] {
    if (!error.empty()) throw Error(error);
  };
  for (std::size_t epoch = done + 1; epoch <= settings.epochs; ++epoch) {
    for (std::size_t step = 1; step <= data.batches.size(); ++step) {
      server.receive(call_of);
      for (Worker& worker : server.workers()) worker.columns.resize(worker.call.columns);
      server.receive([](Worker& worker) { return std::span(worker.columns); });
      for (Worker& worker : server.workers()) {
        gather(model.weights(), worker.columns, worker.elements);
        worker.elements.push_back(error.empty() ? no_error : error_follows);
      }
      server.send(elements_of);
      if (!error.empty()) launch::on_all_ranks(transport, expect_none);
      for (Worker& worker : server.workers()) worker.elements.pop_back();
      server.receive(elements_of);
      error = error_of([&] {
        double decay_share = 1;
        for (const Worker& worker : server.workers()) {
          model.step(worker.call, worker.columns, worker.elements, decay_share);
          decay_share = 0;
        }
      });
      model.show(server.workers().front().call);
    }
    server.receive(call_of);
    std::vector<EpochPart> parts;
    for (const Worker& worker : server.workers()) parts.push_back(worker.call.part);
    launch::on_all_ranks(transport, [&] {
      expect_none();
      model.end_epoch(epoch, parts);
    });
    write_checkpoint(transport, settings, data, epoch, model.weights());
  }
}

}  // namespace dsop::learn
