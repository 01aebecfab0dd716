#include "patterns/network.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace dsop::patterns {
namespace {

// Each member's node, by its number in the order of nodes.
std::vector<int> numbered(const std::vector<int>& nodes, int ranks) {
  std::vector<int> numbers(nodes.empty() ? static_cast<std::size_t>(ranks) : nodes.size());
  if (nodes.empty()) {
    std::iota(numbers.begin(), numbers.end(), 0);
  } else if (std::is_sorted(nodes.begin(), nodes.end())) {
    for (std::size_t r = 1; r < numbers.size(); ++r) numbers[r] = numbers[r - 1] + (nodes[r] != nodes[r - 1] ? 1 : 0);
  } else {
    std::vector<int> names = nodes;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (std::size_t r = 0; r < numbers.size(); ++r)
      numbers[r] = static_cast<int>(std::lower_bound(names.begin(), names.end(), nodes[r]) - names.begin());
  }
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
int turns_between(const std::vector<int>& groups) {
  const auto first = std::find(groups.begin() + 1, groups.end(), groups[0]);
  const auto turns = static_cast<std::size_t>(first - groups.begin());
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i] != static_cast<int>(i % turns)) return 1;
  return groups.size() % turns == 0 ? static_cast<int>(turns) : 1;
}

bool share_no_group(const Machine& machine, const std::vector<int>& nodes) {
  return machine.inner_levels.empty() ||
         (machine.inner_levels.back().nodes == 1 &&
          std::adjacent_find(nodes.begin(), nodes.end(), std::greater_equal<>()) == nodes.end());
}

}  // namespace

Network::Network(const Machine& machine, const std::vector<int>& nodes, int ranks)
    : machine_(machine), ranks_(ranks), teams_(1) {
  if (share_no_group(machine, nodes)) return;  // all messages are of the outermost level
  const std::vector<int> numbers = numbered(nodes, ranks);
  teams_ = static_cast<int>(numbers.size()) / std::max(ranks, 1);
  for (const Level& level : machine.inner_levels) {
    groups_.push_back(numbers);
    if (level.nodes == 1) continue;
    for (int& group : groups_.back()) group /= level.nodes;
  }
  for (const std::vector<int>& groups : groups_) {
    const int members = members_of_each(groups);
    const bool are_alike = members > 0 && (members % ranks == 0 ||  // whole teams
                                           (members % alike_ == 0 && (teams_ == 1 || ranks % members == 0)));
    if (!are_alike) {
      alike_ = ranks;
      if (teams_ == 1 && groups_.size() == 1) turns_ = turns_between(groups);
      return;
    }
    if (members < ranks) alike_ = members;
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
  ranks_.resize(static_cast<std::size_t>(network.inner_levels()) + 1);
  groups_.resize(static_cast<std::size_t>(network.inner_levels()));
}

Step::Port& Step::grown(std::vector<Port>& ports, std::size_t place) {
  ports.resize(std::max(place + 1, 2 * ports.size()));
  return ports[place];
}

void Step::send(int from, int to, std::size_t bytes, std::size_t messages) {
  const Traffic traffic{messages, bytes};
  for (int first = 0; first < network_.teams() * network_.ranks(); first += network_.ranks()) {
    const int level = network_.level(first + from, first + to);
    Traffic& out = of_rank(level, first + from).out;
    out = out + traffic;
    for (int inner = 0; inner < level; ++inner) of_group(inner, first + from).out.bytes += bytes;
    if (senders_ == Senders::some) continue;
    Traffic& in = of_rank(level, first + to).in;
    in = in + traffic;
    for (int inner = 0; inner < level; ++inner) of_group(inner, first + to).in.bytes += bytes;
  }
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
    Traffic busiest;
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
