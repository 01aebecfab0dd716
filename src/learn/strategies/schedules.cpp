#include "learn/strategies/schedules.hpp"

#include <algorithm>
#include <cstddef>
#include <istream>
#include <iterator>
#include <ostream>
#include <span>

#include "launch/launch.hpp"
#include "learn/stopwatch.hpp"
#include "learn/strategies/local_product.hpp"
#include "machine_text.hpp"

namespace dsop::learn {
namespace {

constexpr int root = 0;

class Schedule : public Strategy<float> {
 public:
  Schedule(std::string name, Transport& transport, std::vector<Parameter<float>*> parameters,
           CollectiveOptions collective)
      : transport_(transport), parameters_(std::move(parameters)), collective_(std::move(collective)), name_(name) {
    measures_ = !collective_.machine && collective_.algorithm == "auto";
    if (measures_) collective_.machine = machine(transport);
  }

  void begin(double) override {}
  void need(Parameter<float>&) override {}
  void give(Parameter<float>& parameter, const SparseFactors<float>& factors) override {
    Stopwatch watch;
    local_product<float>(factors, parameter.gradient.view());
    watch.stop(product_seconds_);
  }
  void settle() override {}
  bool sums_in_gradients() const override { return true; }
  double product_seconds() const override { return product_seconds_; }
  std::string describe() const override {
    return "schedule " + name_ + ", collectives " + collective_.algorithm + "\n";
  }
  void save(std::ostream& out) const override {
    if (measures_) out << machine_text(*collective_.machine);
  }
  void load(std::istream& in, std::size_t) override {
    launch::on_all_ranks(transport_, [&] {
      const std::string text(std::istreambuf_iterator<char>(in), {});
      if (measures_ && !text.empty()) collective_.machine = machine_of_text(text, "the checkpoint");
    });
  }

 protected:
  bool is_root() const { return transport_.rank() == root; }

  Transport& transport_;
  std::vector<Parameter<float>*> parameters_;
  CollectiveOptions collective_;

 private:
  std::string name_;
  bool measures_ = false;  // the machine that it plans for, which a checkpoint then holds
  double product_seconds_ = 0;
};

// Algorithm 3. Sums of dsop's own have the same bits on every rank, and so have the weights; an MPI library promises it
// of none. Over its allreduce the ranks take over rank 0's weights every five steps, as in the paper, and where their
// values must be equal.
class Allreduce final : public Schedule {
 public:
  Allreduce(std::string name, Transport& transport, std::vector<Parameter<float>*> parameters,
            CollectiveOptions collective)
      : Schedule(std::move(name), transport, std::move(parameters), std::move(collective)),
        sums_may_differ_(collective_.algorithm == "mpi") {}

  void finish() override {
    for (Parameter<float>* const p : parameters_) allreduce(transport_, p->gradient.elements(), collective_);
  }

  void share_weights() override {
    if (sums_may_differ_ && ++steps_apart_ == 5) settle();
  }

  void settle() override {
    if (steps_apart_ == 0) return;
    for (Parameter<float>* const p : parameters_) broadcast(transport_, p->value.elements(), root, collective_);
    steps_apart_ = 0;
  }

 private:
  bool sums_may_differ_;
  int steps_apart_ = 0;
};

// Algorithm 2.
class ReduceBroadcast final : public Schedule {
 public:
  using Schedule::Schedule;

  void finish() override {
    for (Parameter<float>* const p : parameters_) reduce(transport_, p->gradient.elements(), root, collective_);
  }
  bool updates_weights() const override { return is_root(); }

  void share_weights() override {
    for (Parameter<float>* const p : parameters_) broadcast(transport_, p->value.elements(), root, collective_);
  }
};

// Algorithm 1.
class Overlap final : public Schedule {
 public:
  Overlap(std::string name, Transport& transport, std::vector<Parameter<float>*> parameters,
          CollectiveOptions collective)
      : Schedule(std::move(name), transport, std::move(parameters), std::move(collective)),
        reduced_(parameters_.size()),
        broadcast_(parameters_.size()) {}

  void need(Parameter<float>& parameter) override { broadcast_[place(parameter)].wait(); }

  void give(Parameter<float>& parameter, const SparseFactors<float>& factors) override {
    Schedule::give(parameter, factors);
    reduced_[place(parameter)] = start_reduce(transport_, parameter.gradient.elements(), root, collective_);
  }

  void finish() override {
    if (!is_root())
      for (Pending& pending : reduced_) pending.wait();
  }
  void need_sum(Parameter<float>& parameter) override { reduced_[place(parameter)].wait(); }
  bool updates_weights() const override { return is_root(); }

  void share_weights() override {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      broadcast_[i] = start_broadcast(transport_, parameters_[i]->value.elements(), root, collective_);
  }

  void settle() override {
    for (Pending& pending : broadcast_) pending.wait();
  }

 private:
  std::size_t place(const Parameter<float>& parameter) const {
    return static_cast<std::size_t>(std::find(parameters_.begin(), parameters_.end(), &parameter) -
                                    parameters_.begin());
  }

  std::vector<Pending> reduced_;
  std::vector<Pending> broadcast_;
};

}  // namespace

std::unique_ptr<Strategy<float>> make_schedule(const std::string& name, Transport& transport,
                                               std::vector<Parameter<float>*> parameters,
                                               const CollectiveOptions& collective) {
  std::unique_ptr<Strategy<float>> schedule;
  launch::on_all_ranks(transport, [&] {
    if (name == "overlap")
      schedule = std::make_unique<Overlap>(name, transport, std::move(parameters), collective);
    else if (name == "reduce-broadcast")
      schedule = std::make_unique<ReduceBroadcast>(name, transport, std::move(parameters), collective);
    else if (name == "allreduce")
      schedule = std::make_unique<Allreduce>(name, transport, std::move(parameters), collective);
    else
      throw ArgumentError("--schedule is " + name + ", expected overlap, reduce-broadcast or allreduce");
  });
  return schedule;
}

}  // namespace dsop::learn
