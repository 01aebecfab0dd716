#include "learn/strategies/schedules.hpp"

#include <algorithm>
#include <array>
#include <istream>
#include <iterator>
#include <map>
#include <ostream>

#include "base/data_type_names.hpp"
#include "launch/launch.hpp"
#include "learn/stopwatch.hpp"
#include "machine_text.hpp"
#include "synchronizer/own_gradient.hpp"

namespace dsop::learn {
namespace {

constexpr int root = 0;

class Schedule : public Strategy<float> {
 public:
  Schedule(const std::string& name, Transport& transport, std::vector<Parameter<float>*> parameters,
           CollectiveOptions collective)
      : Strategy({.updates_weights = name == "allreduce" || transport.rank() == root}),
        transport_(transport),
        parameters_(std::move(parameters)),
        collective_(std::move(collective)),
        name_(name),
        measures_(!collective_.machine && collective_.algorithm == "auto") {
    if (measures_) collective_.machine = machine(transport);
  }

  void give(Parameter<float>& parameter, const SparseFactors<float>& factors) override {
    const synchronizer::Given<float> given{factors, parameter.gradient.view()};
    product_.reserve(given);
    product_.make(given, 1, {}, given.target);
  }
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
  AddedSeconds timed() { return AddedSeconds(report_.communication_seconds); }

  void broadcast_weights() {
    for (Parameter<float>* const p : parameters_) broadcast(transport_, p->value.elements(), root, collective_);
  }

  Transport& transport_;
  std::vector<Parameter<float>*> parameters_;
  CollectiveOptions collective_;

 private:
  std::string name_;
  bool measures_;  // the machine that it plans for, which a checkpoint then holds
  synchronizer::OwnGradient<float> product_;
};

// Algorithm 3. Sums of dsop's own have the same bits on every rank, and so have the weights; an MPI library promises it
// of none. Over its allreduce the ranks take over rank 0's weights every five steps, as in the paper, and where their
// values must be equal.
class Allreduce final : public Schedule {
 public:
  using Schedule::Schedule;

  void finish() override {
    const AddedSeconds timed = this->timed();
    for (Parameter<float>* const p : parameters_) allreduce(transport_, p->gradient.elements(), collective_);
  }
  void share_weights() override {
    const bool sums_may_differ = collective_.algorithm == "mpi";
    if (sums_may_differ && ++steps_apart_ == 5) settle();
  }
  void settle() override {
    if (steps_apart_ == 0) return;
    const AddedSeconds timed = this->timed();
    broadcast_weights();
    steps_apart_ = 0;
  }

 private:
  int steps_apart_ = 0;
};

// Algorithm 2.
class ReduceBroadcast final : public Schedule {
 public:
  using Schedule::Schedule;

  void finish() override {
    const AddedSeconds timed = this->timed();
    for (Parameter<float>* const p : parameters_) reduce(transport_, p->gradient.elements(), root, collective_);
  }
  void share_weights() override {
    const AddedSeconds timed = this->timed();
    broadcast_weights();
  }
};

// Algorithm 1.
class Overlap final : public Schedule {
 public:
  using Schedule::Schedule;

  void need(Parameter<float>& parameter) override { wait(broadcast_[&parameter]); }
  void give(Parameter<float>& parameter, const SparseFactors<float>& factors) override {
    Schedule::give(parameter, factors);
    const AddedSeconds timed = this->timed();
    reduced_[&parameter] = start_reduce(transport_, parameter.gradient.elements(), root, collective_);
  }
  void finish() override {
    if (traits.updates_weights) return;
    for (auto& [parameter, pending] : reduced_) wait(pending);
  }
  void need_sum(Parameter<float>& parameter) override { wait(reduced_[&parameter]); }
  void share_weights() override {
    const AddedSeconds timed = this->timed();
    for (Parameter<float>* const p : parameters_)
      broadcast_[p] = start_broadcast(transport_, p->value.elements(), root, collective_);
  }
  void settle() override {
    for (auto& [parameter, pending] : broadcast_) wait(pending);
  }

 private:
  void wait(Pending& pending) {
    const AddedSeconds timed = this->timed();
    pending.wait();
  }

  std::map<const Parameter<float>*, Pending> reduced_;
  std::map<const Parameter<float>*, Pending> broadcast_;
};

template <class Of>
std::unique_ptr<Strategy<float>> made_as(const std::string& name, Transport& transport,
                                         std::vector<Parameter<float>*> parameters,
                                         const CollectiveOptions& collective) {
  return std::make_unique<Of>(name, transport, std::move(parameters), collective);
}

struct NamedSchedule {
  const char* name;
  decltype(&made_as<Overlap>) make;
};

constexpr std::array<NamedSchedule, 3> schedules{{
    {"overlap", made_as<Overlap>},
    {"reduce-broadcast", made_as<ReduceBroadcast>},
    {"allreduce", made_as<Allreduce>},
}};

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const NamedSchedule& schedule : schedules) names.emplace_back(schedule.name);
  return names;
}

std::unique_ptr<Strategy<float>> make_schedule(const std::string& name, Transport& transport,
                                               std::vector<Parameter<float>*> parameters,
                                               const CollectiveOptions& collective) {
  std::unique_ptr<Strategy<float>> schedule;
  launch::on_all_ranks(transport, [&] {
    const auto found = std::ranges::find(schedules, name, &NamedSchedule::name);
    if (found == schedules.end())
      throw ArgumentError("--schedule is " + name + ", expected " + one_of(schedule_names()));
    schedule = found->make(name, transport, std::move(parameters), collective);
  });
  return schedule;
}

}  // namespace dsop::learn
