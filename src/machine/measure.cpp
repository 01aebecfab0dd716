#include "machine/measure.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <dsop/types.hpp>

#include "base/error_of.hpp"
#include "kernels/threads.hpp"
#include "machine/hidden_share.hpp"
#include "machine/measure_arithmetic.hpp"
#include "machine/measured_memory.hpp"
#include "machine/node_groups.hpp"
#include "machine/sampling.hpp"
#include "patterns/agreed_errors.hpp"
#include "patterns/hypercube.hpp"
#include "patterns/ring.hpp"
#include "transport/subset.hpp"

namespace dsop {
namespace {

// Of messages that are sent whole and in pieces by turns: between nodes, and inside one, where longer ones are not cut.
constexpr std::array between_nodes_bytes{step_bytes[2], step_bytes[3]};
constexpr std::array in_node_bytes{static_cast<std::size_t>(2 * Level().piece_bytes),
                                   static_cast<std::size_t>(4 * Level().piece_bytes)};

// Ranks that send messages to each other, while those of other groups do the same.
struct ProbedGroup {
  Transport& transport;
  bool takes_part;   // else this rank waits
  int largest_size;  // of all groups
  const StepCounts& steps;
};

class Measuring {
  auto ring_step_of(Transport& partners) {
    return [this, &partners, ring = patterns::Ring(partners)](std::size_t bytes) {
      return [this, &partners, ring, bytes](int) {
        partners.sendrecv(memory_.next_out(bytes), ring.right(), memory_.next_in(bytes), ring.left());
      };
    };
  }
  /// Partners at changing distances, as in recursive doubling, for ranks of the hypercube.
  auto exchange_step_of(Transport& partners) {
    return [this, &partners, cube = patterns::Hypercube(partners.rank(), partners.size())](std::size_t bytes) {
      return [this, &partners, cube, bytes](int s) {
        const int partner = cube.rank ^ (1 << (s % cube.dimensions()));
        partners.sendrecv(memory_.next_out(bytes), partner, memory_.next_in(bytes), partner);
      };
    };
  }

 public:
  Measuring(Transport& transport, const Effort& effort)
      : transport_(transport), effort_(effort), sampling_(transport, effort) {
    agree_on_errors(transport, error_of([&] { memory_.take(effort); }));
  }

  /// Sets `piece_bytes`, a number of `machine`, to 0 if long messages take less time whole than in pieces. Leaves it
  /// where that would take longer than `until` to find out, by what short messages take; and where the transport cuts
  /// none.
  void try_whole(const ProbedGroup& group, std::span<const std::size_t> lengths_bytes, const Machine& machine,
                 double& piece_bytes, double until) {
    constexpr std::size_t short_bytes = step_bytes[1];
    if (!transport_.use_pieces_of(machine)) return;
    const double short_seconds =
        sampling_.step_seconds(group.takes_part, 1, ring_step_of(group.transport)(short_bytes));
    const bool are_faster_whole = std::ranges::all_of(lengths_bytes, [&](std::size_t bytes) {
      const double seconds = short_seconds * std::max(static_cast<double>(bytes) / short_bytes, 1.0);
      return sampling_.fit(turns_to_try * (steps_of_a_turn + 1), seconds, until) &&
             is_faster_whole(group, bytes, machine, piece_bytes);
    });
    if (are_faster_whole) piece_bytes = 0;
    transport_.use_pieces_of(machine);
  }
  /// Messages round a ring, in two thirds of the time that is left.
  template <class Network>
  void measure_ring(const ProbedGroup& group, Network& network, double until) {
    const double start = sampling_.spent_seconds();
    const double seconds = std::max(until - start, 0.0);
    const auto ring_step = ring_step_of(group.transport);
    const double guess = sampling_.step_seconds(group.takes_part, 1, ring_step(1));
    const int samples = effort_.short_samples;
    const int timed = sampling_.steps_in_time(group.steps[0], guess, start + seconds / 8, samples);
    const double small = sampling_.step_seconds(group.takes_part, timed, ring_step(1), samples);
    network.overhead_seconds = std::min(overhead_seconds(group), small / 2.1);
    network.latency_seconds = small - 2 * network.overhead_seconds;
    network.gap_seconds = gap_seconds(group);
    network.ring_step_seconds =
        sampling_.steps_seconds(group.takes_part, small, start + seconds * 2 / 3, group.steps, ring_step);
    network.gap_per_byte_seconds = (network.ring_step_seconds.back() - small) / static_cast<double>(step_bytes.back());
  }
  /// After measure_ring(): messages among partners that change. After an agreement no more steps than a call of the
  /// largest group makes. Of many that follow each other ranks get into a jam, as in Sampling::come_to_a_call().
  template <class Network>
  void measure_exchanges(const ProbedGroup& group, Network& network, double until) {
    const int most_in_a_call = 2 * patterns::Hypercube(0, group.largest_size).dimensions();
    const bool is_extra = patterns::Hypercube(group.transport.rank(), group.transport.size()).is_extra();
    const double small = network.latency_seconds + 2 * network.overhead_seconds;
    network.exchange_step_seconds = sampling_.steps_seconds(group.takes_part && !is_extra, small, until, group.steps,
                                                            exchange_step_of(group.transport), most_in_a_call);
  }
  /// What `ranks` ranks of a node send out together.
  double out_bytes_per_second(Transport& partners, bool take_part, int ranks) {
    constexpr std::size_t together_bytes = 256 << 10;
    const std::size_t bytes = std::max(together_bytes / static_cast<std::size_t>(ranks), step_bytes[0]);
    const double seconds = sampling_.step_seconds(take_part, effort_.steps[3], ring_step_of(partners)(bytes));
    return static_cast<double>(bytes) * ranks / seconds;
  }
  /// As hidden_share().
  HiddenShare hidden_share(const ProbedGroup& group, const Machine& machine) {
    constexpr std::size_t largest_side = 384;  // algorithms make blocks of about this size while they would wait
    const std::size_t side = std::min(effort_.product_side, largest_side);
    const auto columns = static_cast<double>(side);
    return dsop::hidden_share(
        sampling_, effort_, group.transport, group.takes_part,
        [this](Transport& transport) { return ring_step_of(transport); },
        [this, side] { memory_.product(own_kernel_pairs, memory_.square(side)); },
        machine.product_seconds(columns, columns, own_kernel_pairs, DataType::f32), machine,
        sampling_.spent_seconds() + effort_.seconds / 2);
  }
  StepSeconds native_allreduce_seconds() {
    const auto step_of = [&](std::size_t bytes) {
      return [this, bytes](int) { transport_.native().allreduce(memory_.next_in(bytes), DataType::f32); };
    };
    std::ranges::fill(memory_.sum(), 0.0F);  // so that sums of sums stay finite
    const double smallest = sampling_.step_seconds(true, 1, step_of(sizeof(float)), effort_.short_samples);
    const double until = sampling_.spent_seconds() + effort_.seconds / 4;
    return sampling_.steps_seconds(true, smallest, until, effort_.native_allreduces, step_of);
  }
  void measure_arithmetic(Machine& machine) {
    dsop::measure_arithmetic(sampling_, effort_, memory_, machine);
    sampling_.least_seconds_a_byte = 1 / machine.memory_bytes_per_second;
    arithmetic_.push_back(machine);
  }
  /// As often as it is to be measured, and takes the median.
  void end_arithmetic(Machine& machine) {
    while (arithmetic_.size() < static_cast<std::size_t>(effort_.arithmetic_times)) measure_arithmetic(machine);
    if (arithmetic_.size() > 1) take_median_arithmetic(arithmetic_, machine);
  }
  void check_clock() { sampling_.check_clock(); }
  double spent_seconds() const { return sampling_.spent_seconds(); }

 private:
  static constexpr int turns_to_try = 4;
  static constexpr int steps_of_a_turn = 2;

  // Whether messages of one length take less time whole, by turns. Less than a fifth may be noise.
  bool is_faster_whole(const ProbedGroup& group, std::size_t bytes, const Machine& machine, double& piece_bytes) {
    constexpr double surely = 1.2;
    const double cut_bytes = piece_bytes;
    std::array<double, 2> least_seconds{1e300, 1e300};  // in pieces, whole
    for (int turn = 0; turn < turns_to_try; ++turn) {
      const auto is_whole = static_cast<std::size_t>(turn % 2);
      piece_bytes = is_whole != 0 ? 0 : cut_bytes;
      transport_.use_pieces_of(machine);
      least_seconds[is_whole] =
          std::min(least_seconds[is_whole],
                   sampling_.step_seconds(group.takes_part, steps_of_a_turn, ring_step_of(group.transport)(bytes)));
    }
    piece_bytes = cut_bytes;
    return surely * least_seconds[1] < least_seconds[0];
  }

  // LogGP's g: the time from one small message to the next when many are sent without waiting.
  double gap_seconds(const ProbedGroup& group) {
    constexpr int messages = 40;
    Transport& partners = group.transport;
    const patterns::Ring ring(partners);
    return sampling_.step_seconds(group.takes_part, 1, [&](int) {
      std::vector<Request> requests;
      for (int i = 0; i < messages; ++i) requests.push_back(partners.irecv(memory_.next_in(1), ring.left()));
      for (int i = 0; i < messages; ++i) requests.push_back(partners.isend(memory_.next_out(1), ring.right()));
      for (Request& request : requests) partners.wait(request);
    }) / messages;
  }

  // LogGP's o: the time until a send's call returns. The receives stand ready.
  double overhead_seconds(const ProbedGroup& group) {
    const int messages = 4 * effort_.samples;
    Transport& partners = group.transport;
    const patterns::Ring ring(partners);
    std::vector<double> seconds{0};
    for (int i = 0; group.takes_part && i < messages; ++i) {
      Request receive = partners.irecv(memory_.next_in(1), ring.left());
      const double start = sampling_.now();
      Request send = partners.isend(memory_.next_out(1), ring.right());
      seconds.push_back(sampling_.now() - start);
      partners.wait(receive);
      partners.wait(send);
    }
    return sampling_.of_slowest(median(seconds));
  }

  Transport& transport_;
  const Effort& effort_;
  Sampling sampling_;
  MeasuredMemory memory_;
  std::vector<Machine> arithmetic_;  // as measured each time
};

// Between nodes no byte of a short message travels faster than one of a long message: what a shaper lets through at
// once, calls that follow each other have used up.
void hold_to_rate(Machine& machine) {
  for (StepSeconds* const seconds : {&machine.ring_step_seconds, &machine.exchange_step_seconds})
    for (std::size_t i = 0; i < seconds->size(); ++i)
      (*seconds)[i] = std::max((*seconds)[i], static_cast<double>(step_bytes[i]) * machine.gap_per_byte_seconds);
}

}  // namespace

Machine measure_machine(Transport& transport, const std::vector<int>& nodes, const Effort& effort) {
  Machine machine = transport.default_machine();
  Measuring measuring(transport, effort);
  measuring.measure_arithmetic(machine);
  const NodeGroups groups(nodes, transport.rank(), transport.size());
  const auto among = [&](const std::vector<int>& ranks) {
    const auto place = std::ranges::find(ranks, transport.rank()) - ranks.begin();
    return Subset(transport, static_cast<int>(place), static_cast<int>(ranks.size()),
                  [&ranks](int i) { return ranks[static_cast<std::size_t>(i)]; });
  };
  auto on_node = among(groups.on_node);
  auto across = among(groups.across);
  const bool has_nodes = groups.nodes > 1;
  const bool shares_nodes = groups.most_on_node > 1;
  HiddenShare hidden{machine.hidden_share};
  const double start = measuring.spent_seconds();
  const double end = start + effort.seconds;
  if (transport.size() > 1) {
    const ProbedGroup outer = has_nodes ? ProbedGroup{across, groups.place_on_node == 0, groups.nodes, effort.steps}
                                        : ProbedGroup{on_node, true, groups.most_on_node, effort.steps};
    measuring.try_whole(outer, has_nodes ? between_nodes_bytes : in_node_bytes, machine, machine.piece_bytes,
                        start + effort.seconds / 3);
    const double until = has_nodes && shares_nodes ? start + effort.seconds * 0.9 : end;
    measuring.measure_ring(outer, machine, until);
    if (effort.arithmetic_times > 1) measuring.measure_arithmetic(machine);
    measuring.measure_exchanges(outer, machine, until);
    if (has_nodes) hold_to_rate(machine);
    if (has_nodes && shares_nodes) {
      const ProbedGroup inner{on_node, groups.on_node.size() > 1, groups.most_on_node, effort.inner_steps};
      Level& level = machine.inner_levels.emplace_back();
      measuring.try_whole(inner, in_node_bytes, machine, level.piece_bytes, end);
      measuring.measure_ring(inner, level, end);
      measuring.measure_exchanges(inner, level, end);
      const int together = groups.least_on_node;
      level.out_bytes_per_second = measuring.out_bytes_per_second(across, groups.place_on_node < together, together);
    }
    hidden = measuring.hidden_share(outer, machine);
    machine.hidden_share = hidden.share;
  }
  if (transport.has_native_collectives() && transport.size() > 1)
    machine.native_allreduce_seconds = measuring.native_allreduce_seconds();
  machine.measured_on = {transport.size(), groups.nodes, static_cast<int>(kernels::thread_count()), transport.name()};
  machine.measured_on.hidden_share_spread = hidden.spread;
  measuring.end_arithmetic(machine);
  measuring.check_clock();
  return machine;
}

}  // namespace dsop
