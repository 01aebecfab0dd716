#include "patterns/network.hpp"

#include <algorithm>
#include <numeric>

namespace dsop::patterns {
namespace {

// How many members there are of each node, up to the highest.
std::vector<int> members_by_node(const std::vector<int>& nodes) {
  std::vector<int> members(nodes.empty() ? 0
                                         : static_cast<std::size_t>(*std::max_element(nodes.begin(), nodes.end())) + 1);
  for (const int node : nodes) ++members[static_cast<std::size_t>(node)];
  return members;
}

// Each member's node, by its number in the order of nodes, of which `members` are members_by_node().
std::vector<int> numbered(const std::vector<int>& nodes, const std::vector<int>& members, int ranks) {
  std::vector<int> numbers(nodes.empty() ? static_cast<std::size_t>(ranks) : nodes.size());
  if (nodes.empty()) std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<int> number_of;  // each node
  int next = 0;
  for (const int count : members) number_of.push_back(count > 0 ? next++ : next);
  for (std::size_t r = 0; r < nodes.size(); ++r) numbers[r] = number_of[static_cast<std::size_t>(nodes[r])];
  return numbers;
}

// How many members each of the groups has, if they are of consecutive members, equally many but in the last; else 0.
int members_of_each(const std::vector<int>& groups) {
  if (groups.empty() || groups[0] != 0) return 0;
  const auto size = static_cast<std::size_t>(
      std::find_if(groups.begin(), groups.end(), [](int group) { return group != 0; }) - groups.begin());
  for (std::size_t i = size; i < groups.size(); ++i)
    if (groups[i] != groups[i - size] + 1) return 0;
  return static_cast<int>(size);
}

// On how many groups members are dealt by turns, equally many on each; else 1.
int round_robin_nodes_of(const std::vector<int>& groups) {
  const auto first = std::find(groups.begin() + 1, groups.end(), groups[0]);
  const auto turns = static_cast<std::size_t>(first - groups.begin());
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i] != static_cast<int>(i % turns)) return 1;
  return groups.size() % turns == 0 ? static_cast<int>(turns) : 1;
}

// All messages are then of the outermost level.
bool share_no_group(const Machine& machine, const std::vector<int>& members) {
  return machine.inner_levels.empty() ||
         (machine.inner_levels.back().nodes == 1 &&
          std::all_of(members.begin(), members.end(), [](int count) { return count <= 1; }));
}

}  // namespace

Network::Network(const Machine& machine, const std::vector<int>& nodes, int ranks)
    : machine_(machine), ranks_(ranks), teams_(1) {
  const std::vector<int> members = members_by_node(nodes);
  if (share_no_group(machine, members)) return;
  const std::vector<int> numbers = numbered(nodes, members, ranks);
  teams_ = static_cast<int>(numbers.size()) / std::max(ranks, 1);
  for (const Level& level : machine.inner_levels) {
    groups_.push_back(numbers);
    if (level.nodes == 1) continue;
    for (int& group : groups_.back()) group /= level.nodes;
  }
  for (const std::vector<int>& groups : groups_) {
    const int of_each = members_of_each(groups);
    const bool are_alike = of_each > 0 && (of_each % ranks == 0 ||  // whole teams
                                           (of_each % representatives_ == 0 && (teams_ == 1 || ranks % of_each == 0)));
    if (!are_alike) {
      representatives_ = ranks;
      if (teams_ == 1 && groups_.size() == 1) round_robin_nodes_ = round_robin_nodes_of(groups);
      return;
    }
    if (of_each < ranks) representatives_ = of_each;
  }
  teams_ = 1;
}

int Network::level(int member, int other) const {
  int level = 0;
  while (level < inner_levels() && group(level, member) != group(level, other)) ++level;
  return level;
}

Step::Step(const Network& network, Partners partners, Senders senders)
    : network_(network), partners_(partners), senders_(senders) {
  alone_.resize(static_cast<std::size_t>(network.inner_levels()) + 1);
  ranks_.resize(alone_.size());
  groups_.resize(static_cast<std::size_t>(network.inner_levels()));
}

Step::Port& Step::grown(std::vector<Port>& ports, std::size_t place) {
  ports.resize(std::max(place + 1, 2 * ports.size()));
  return ports[place];
}

template <class Add>
void Step::each_team(int from, int to, std::size_t bytes, const Add& add) {
  for (int first = 0; first < network_.teams() * network_.ranks(); first += network_.ranks()) {
    const int level = network_.level(first + from, first + to);
    add(level, first);
    for (int inner = 0; inner < level; ++inner) {
      of_group(inner, first + from).out.bytes += bytes;
      if (senders_ == Senders::all) of_group(inner, first + to).in.bytes += bytes;
    }
  }
}

void Step::send(int from, int to, std::size_t bytes, std::size_t messages) {
  const Traffic traffic{messages, bytes};
  each_team(from, to, bytes, [&](int level, int first) {
    Traffic& out = of_rank(level, first + from).out;
    out = out + traffic;
    if (senders_ == Senders::some) return;
    Traffic& in = of_rank(level, first + to).in;
    in = in + traffic;
  });
}

void Step::send_alone(int from, int to, std::size_t bytes, std::size_t messages) {
  each_team(from, to, bytes, [&](int level, int) {
    alone_[static_cast<std::size_t>(level)].raise_to({messages, bytes});
  });
}

void Step::send_to_all(const std::vector<std::size_t>& given, const std::vector<std::size_t>& taken) {
  struct Sums {
    std::size_t ranks = 0;
    std::size_t given = 0;
    std::size_t taken = 0;
  };
  const int levels = network_.inner_levels();
  const int P = network_.ranks();
  const auto members = static_cast<std::size_t>(P) * static_cast<std::size_t>(network_.teams());
  Sums all;
  std::vector<std::vector<Sums>> sums(static_cast<std::size_t>(levels), std::vector<Sums>(members));
  const auto of_group = [&](int level, int member) -> Sums& {
    if (level == levels) return all;
    return sums[static_cast<std::size_t>(level)][static_cast<std::size_t>(network_.group(level, member))];
  };
  for (int first = 0; first < P * network_.teams(); first += P) {
    for (int level = 0; level <= levels; ++level)
      for (int r = 0; r < P; ++r) of_group(level, first + r) = {};
    for (int level = 0; level <= levels; ++level)
      for (int r = 0; r < P; ++r) {
        Sums& group = of_group(level, first + r);
        group.ranks += 1;
        group.given += given[static_cast<std::size_t>(r)];
        group.taken += taken[static_cast<std::size_t>(r)];
      }
    for (int r = 0; r < P; ++r) {
      const Sums own{1, given[static_cast<std::size_t>(r)], taken[static_cast<std::size_t>(r)]};
      Sums inside = own;
      for (int level = 0; level <= levels; ++level) {
        const Sums& group = of_group(level, first + r);
        const std::size_t others = group.ranks - inside.ranks;
        of_rank(level, first + r) = {{others, own.given * (group.taken - inside.taken)},
                                     {others, own.taken * (group.given - inside.given)}};
        inside = group;
        if (level == levels) continue;
        Port& port = this->of_group(level, first + r);
        port.out.bytes += own.given * (all.taken - group.taken);
        port.in.bytes += own.taken * (all.given - group.given);
      }
    }
  }
}

std::size_t Step::out_of_busiest_group(int inner_level) const {
  std::size_t bytes = 0;
  for (const Port& group : groups_[static_cast<std::size_t>(inner_level)])
    bytes = std::max({bytes, group.out.bytes, group.in.bytes});
  return bytes;
}

// What leaves a group counts as much as it delays one rank of it that fills a link of this level.
std::size_t Step::busiest_bytes(int level, std::size_t of_ranks) const {
  const double gap_seconds = network_.on_level(level, [](const auto& on) { return on.gap_per_byte_seconds; });
  std::size_t busiest = of_ranks;
  for (int inner = 0; inner < level; ++inner) {
    const double together = network_.machine().inner_levels[static_cast<std::size_t>(inner)].out_bytes_per_second;
    const double share = together > 0 ? std::min(1 / (together * gap_seconds), 1.0) : 1;
    busiest = std::max(busiest, static_cast<std::size_t>(share * static_cast<double>(out_of_busiest_group(inner))));
  }
  return busiest;
}

template <class SecondsOn>
double Step::slowest(const SecondsOn& seconds_on) const {
  double slowest = 0;
  for (int level = 0; level <= network_.inner_levels(); ++level) {
    Traffic busiest = alone_[static_cast<std::size_t>(level)];
    for (const Port& rank : ranks_[static_cast<std::size_t>(level)]) {
      busiest.raise_to(rank.out);
      busiest.raise_to(rank.in);
    }
    if (busiest.messages == 0) continue;
    const std::size_t bytes = busiest_bytes(level, busiest.bytes);
    slowest = std::max(
        slowest, network_.on_level(level, [&](const auto& on) { return seconds_on(on, bytes, busiest.messages); }));
  }
  return slowest;
}

double Step::seconds(bool with_latency) const {
  return slowest([&](const auto& level, std::size_t bytes, std::size_t messages) {
    const double seconds =
        partners_ == Partners::same ? level.message_seconds(bytes, messages) : level.exchange_seconds(bytes, messages);
    return with_latency ? seconds : seconds - level.latency_seconds;
  });
}

}  // namespace dsop::patterns
