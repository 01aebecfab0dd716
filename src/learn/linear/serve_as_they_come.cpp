// An asynchronous server: answers each worker by itself, and adds each gradient to the weights when it comes.
#include <algorithm>
#include <string>
#include <thread>

#include "base/error_of.hpp"
#include "launch/launch.hpp"
#include "learn/linear/server.hpp"

namespace dsop::learn {
namespace {

/// What the server waits for from one worker.
enum class Wait : unsigned char { call, columns, gradient, nothing };

class ComingServer {
 public:
  ComingServer(Transport& transport, ServerModel& model, const LinearData& data, std::size_t epochs)
      : transport_(transport),
        model_(model),
        first_(data.workers.first),
        workers_(static_cast<std::size_t>(data.workers.count)),
        parts_(epochs) {}

  void run() {
    for (std::size_t v = 0; v < workers_.size(); ++v) expect(v, Wait::call, std::span(&workers_[v].call, 1));
    while (std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.wait != Wait::nothing; })) {
      bool moved = false;
      for (std::size_t v = 0; v < workers_.size(); ++v)
        if (workers_[v].wait != Wait::nothing && transport_.test(workers_[v].receive)) {
          transport_.wait(workers_[v].receive);
          go_on(v);
          moved = true;
        }
      if (!moved) std::this_thread::yield();
    }
    launch::on_all_ranks(transport_, [&] {
      if (!error_.empty()) throw Error(error_);
    });
  }

 private:
  struct Worker {
    Wait wait = Wait::call;
    ServerCall call = {};
    std::vector<std::uint32_t> columns = {};
    std::vector<float> weights = {};
    std::vector<float> gradient = {};
    Request receive = {};
    Request send = {};
  };

  int rank(std::size_t v) const { return first_ + static_cast<int>(v); }

  template <class T>
  void expect(std::size_t v, Wait wait, std::span<T> message) {
    workers_[v].wait = wait;
    workers_[v].receive = transport_.irecv(message, rank(v));
  }

  /// What worker v was to send is there.
  void go_on(std::size_t v) {
    Worker& worker = workers_[v];
    switch (worker.wait) {
      case Wait::call:
        if (worker.call.request == ServerRequest::ends_epoch) return end_epoch(v);
        if (worker.call.request == ServerRequest::leaves) {
          if (error_.empty()) error_ = model_.broken(worker.call);
          return end(worker);
        }
        worker.columns.resize(worker.call.columns);
        return expect(v, Wait::columns, std::span(worker.columns));
      case Wait::columns:
        gather(model_.weights(), worker.columns, worker.weights);
        worker.weights.push_back(error_.empty() ? no_error : error_has_come);
        worker.send = transport_.isend(std::span<const float>(worker.weights), rank(v));
        worker.gradient.resize(worker.columns.size());
        return expect(v, Wait::gradient, std::span(worker.gradient));
      case Wait::gradient:
        transport_.wait(worker.send);
        model_.step(worker.call, worker.columns, worker.gradient, 1 / static_cast<double>(workers_.size()));
        model_.show(worker.call);
        return expect(v, Wait::call, std::span(&worker.call, 1));
      case Wait::nothing:
        return;
    }
  }

  /// The slowest worker's end is the epoch's. Server 0 then waits for the others, which wait for nobody.
  void end_epoch(std::size_t v) {
    Worker& worker = workers_[v];
    std::vector<EpochPart>& parts = parts_[worker.call.epoch - 1];
    parts.push_back(worker.call.part);
    if (parts.size() == workers_.size()) {
      model_.collect();
      if (error_.empty()) error_ = error_of([&] { model_.end_epoch(worker.call.epoch, parts); });
    }
    if (worker.call.epoch == parts_.size())
      end(worker);
    else
      expect(v, Wait::call, std::span(&worker.call, 1));
  }

  /// Nothing more is to come.
  void end(Worker& worker) {
    transport_.wait(worker.send);
    worker.wait = Wait::nothing;
  }

  Transport& transport_;
  ServerModel& model_;
  int first_;
  std::vector<Worker> workers_;
  std::vector<std::vector<EpochPart>> parts_;  ///< of each epoch, in the order of arrival
  std::string error_;                          ///< the first
};

}  // namespace

void serve_as_they_come(Transport& transport, ServerModel& model, const LinearData& data, std::size_t epochs) {
  ComingServer(transport, model, data, epochs).run();
}

}  // namespace dsop::learn
