// What messages that travel at the same time take, between ranks that share nodes, racks and a network.
#pragma once

#include <cstddef>
#include <vector>

#include <dsop/counting.hpp>
#include <dsop/machine.hpp>

namespace dsop::patterns {

/// Ranks on the levels of a machine, which must outlive it. Level i is inside the groups of inner_levels[i], outside
/// those of the one before; the last is the network between the largest groups. The last group of a level may have
/// fewer nodes than the others.
class Network {
 public:
  /// `nodes` names each rank's node by a number from 0, which rise in the order of the nodes' lowest ranks; empty: no
  /// two ranks share one. Where it names more than `ranks`, they are teams of `ranks` each, one after the other, that
  /// all do the same at the same time; teams that share no group, or all theirs, count as one.
  Network(const Machine& machine, const std::vector<int>& nodes, int ranks);

  const Machine& machine() const { return machine_; }
  int ranks() const { return ranks_; }
  int teams() const { return teams_; }
  /// In a pattern in which every rank does as all others, ranks 0 .. representatives() - 1 stand for all: those of one
  /// group, where groups are of consecutive ranks, equally many but in the last. 1: no message takes longer than
  /// another of its length. ranks(): none stands for others.
  int representatives() const { return representatives_; }
  /// The same in a circle, where all send equally far: ranks 0, round_robin_nodes(), 2 round_robin_nodes() .. stand for
  /// all, so many of them.
  int representatives_in_circle() const {
    return round_robin_nodes_ > 1 ? ranks_ / round_robin_nodes_ : representatives_;
  }
  /// On how many nodes ranks are dealt by turns, equally many on each, if there is one level of nodes alone; else 1.
  int round_robin_nodes() const { return round_robin_nodes_; }
  /// Those on which ranks may meet: all of the machine's, or none where no two ranks share a group.
  int inner_levels() const { return static_cast<int>(groups_.size()); }
  /// Of a team's rank, counted through all teams: its group of an inner level.
  int group(int inner_level, int member) const {
    return groups_[static_cast<std::size_t>(inner_level)][static_cast<std::size_t>(member)];
  }
  /// Number of a message's level: the innermost whose group has both.
  int level(int member, int other) const;
  /// `of` the level of a number, or of the machine, which is the outermost.
  template <class Of>
  auto on_level(int level, const Of& of) const {
    return level < inner_levels() ? of(machine_.inner_levels[static_cast<std::size_t>(level)]) : of(machine_);
  }

 private:
  const Machine& machine_;
  int ranks_;
  int teams_;
  int representatives_ = 1;
  int round_robin_nodes_ = 1;
  std::vector<std::vector<int>> groups_;  // of each inner level, of each member
};

/// Whom ranks send to in a step: as in the step before, or others, which some networks and MPI libraries do more
/// slowly.
enum class Partners : unsigned char { same, others };

/// Whose messages a step is told of: of all, or of some that stand for all, since every rank does as all others. Then
/// as much comes in as goes out, and that alone is counted.
enum class Senders : unsigned char { all, some };

/// Messages that travel at the same time. On each level they take as long as the busiest rank's there, out or in, or as
/// what leaves or enters the busiest group of a level inside it; the slowest level counts.
class Step {
 public:
  Step(const Network& network, Partners partners, Senders senders = Senders::all);

  /// One rank's to another, of each team.
  void send(int from, int to, std::size_t bytes, std::size_t messages = 1);
  /// The same of a rank that sends nothing else, to one that receives nothing else. Takes no memory for ranks.
  void send_alone(int from, int to, std::size_t bytes, std::size_t messages = 1);
  /// Every rank's to every other of its team: of given[from] * taken[to] bytes.
  void send_to_all(const std::vector<std::size_t>& given, const std::vector<std::size_t>& taken);

  /// Until all have come and the next step may start.
  double seconds() const { return seconds(true); }
  /// The same without the way of the last message: until the next may start that does not wait for these.
  double seconds_but_latency() const { return seconds(false); }

 private:
  struct Port {
    Traffic out;
    Traffic in;
  };

  static Port& grown(std::vector<Port>& ports, std::size_t place);
  static Port& of(std::vector<Port>& ports, int member) {
    const auto place = static_cast<std::size_t>(member);
    return place < ports.size() ? ports[place] : grown(ports, place);
  }
  Port& of_rank(int level, int member) { return of(ranks_[static_cast<std::size_t>(level)], member); }
  Port& of_group(int inner_level, int member) {
    return of(groups_[static_cast<std::size_t>(inner_level)], network_.group(inner_level, member));
  }
  /// Calls add(level, the team's first member) for each team's message, and counts what leaves and enters groups.
  template <class Add>
  void each_team(int from, int to, std::size_t bytes, const Add& add);
  std::size_t busiest_bytes(int level, std::size_t of_ranks) const;
  std::size_t out_of_busiest_group(int inner_level) const;
  double seconds(bool with_latency) const;
  template <class SecondsOn>
  double slowest(const SecondsOn& seconds_on) const;

  const Network& network_;
  Partners partners_;
  Senders senders_;
  std::vector<Traffic> alone_;             // of each level: the most that one rank sends alone
  std::vector<std::vector<Port>> ranks_;   // of each level, of each member up to the last of send() and send_to_all()
  std::vector<std::vector<Port>> groups_;  // of each inner level, of each group
};

}  // namespace dsop::patterns
