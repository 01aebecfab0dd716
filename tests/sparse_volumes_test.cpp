// What every sparse allreduce sends, and its critical path, beside what the papers state: the table of docs/sparse.md.
#include <catch2/catch.hpp>

#include <bit>
#include <map>
#include <mutex>
#include <tuple>

#include <dsop/counting.hpp>
#include <dsop/topk_allreduce.hpp>

#include "critical_path.hpp"
#include "sparse_allreduce_cases.hpp"
#include "sparse_inputs.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace volumes {  // k is a name in other files that are compiled with this one
namespace {

constexpr std::size_t k = 4096;
constexpr std::size_t step = 128;
constexpr std::size_t N = step * k;

struct Words {
  double sent = 0;  // by the busiest rank
  double path = 0;
};

Words both(double words) {
  return {words, words};
}

// What the papers state for k of N elements a rank, an index being a word like a value.
struct Papers {
  int P;
  Overlap overlap;
  int group;  // ranks a group, of those algorithms that have them

  double in_union(int ranks) const {
    return SparseProblem{.elements = N, .nonzeros = {k}, .overlap = overlap}.expected_union(ranks);
  }
  // To everybody's region what all of so many ranks hold of it.
  double split(int ranks) const { return 2.0 * k * (ranks - 1) / ranks; }
  double of_others(double words) const { return words * (P - 1) / P; }

  Words allgather() const { return both(2.0 * k * (P - 1)); }
  // Ranks beyond a power of two hand their vectors to others, and get the sum from them.
  Words recursive_doubling() const {
    const auto corners = static_cast<int>(std::bit_floor(static_cast<unsigned>(P)));
    Words words;
    for (int have = 1; have < corners; have *= 2) words.sent += 2 * in_union(have + std::min(have, P - corners));
    if (corners < P) words.sent += 2 * in_union(P);
    words.path = words.sent + (corners < P ? 2 * k : 0);
    return words;
  }
  Words split_allgather() const { return both(split(P) + of_others(2 * in_union(P))); }
  Words dense_allgather() const { return both(split(P) + of_others(N)); }
  // C groups of g ranks; ranks beyond hand their vectors to others, and have empty blocks when all are gathered.
  Words early_switch() const {
    const int g = std::min(group, P);
    const int owners = g * static_cast<int>(std::bit_floor(static_cast<unsigned>(P / g)));
    const auto words_of_all = static_cast<double>(N);
    Words words = both(split(g) + words_of_all / g - words_of_all / owners + words_of_all * (P - 1) / owners);
    if (owners < P) words.sent += (in_union(2) / k - 1) * split(g);
    words.path = words.sent + (owners < P ? 2 * k : 0);
    return words;
  }
};

// Renggli 2017 (SparCML), section 3.3 and table 3.1; Li and Hoefler 2022 (Ok-Topk), table 1.
const std::map<std::string, Words (Papers::*)() const> formulas{
    {"allgather", &Papers::allgather},
    {"ssar-recursive-doubling", &Papers::recursive_doubling},
    {"ssar-split-allgather", &Papers::split_allgather},
    {"dsar-split-allgather", &Papers::dense_allgather},
    {"dsar-early-switch", &Papers::early_switch},
    {"topk-dsa", &Papers::split_allgather},
};

// One element in each of k stretches: by chance, the same on all ranks, or on no two.
std::vector<std::uint32_t> indices_of(int rank, Overlap overlap) {
  const auto r = static_cast<std::size_t>(rank);
  std::vector<std::uint32_t> indices(k);
  for (std::size_t j = 0; j < k; ++j) {
    const std::size_t within = overlap == Overlap::uniform ? bench::mix(N * (r + 1) + j) % step
                               : overlap == Overlap::none  ? r
                                                           : 0;
    indices[j] = static_cast<std::uint32_t>(j * step + within);
  }
  return indices;
}

struct Counted {
  Words words;
  std::size_t messages = 0;
};

struct Job {
  std::string algorithm;
  Overlap overlap;
  Counted counted = {};
};

void count(int P, std::vector<Job>& jobs) {
  constexpr double word_bytes = sizeof(float);
  std::mutex mutex;
  run_on_threads(P, [&](Transport& threads) {
    for (Job& job : jobs) {
      bench::CriticalPathTransport path(threads);
      CountingTransport transport(path);
      const std::vector<std::uint32_t> indices = indices_of(transport.rank(), job.overlap);
      const std::vector<float> ones(k, 1);
      static_cast<void>(sparse_allreduce<float>(transport, {N, indices, ones}, {.algorithm = job.algorithm}));
      const std::lock_guard lock(mutex);
      Counted& counted = job.counted;
      counted.messages = std::max(counted.messages, transport.payload().messages);
      counted.words.sent = std::max(counted.words.sent, static_cast<double>(transport.payload().bytes) / word_bytes);
      counted.words.path = std::max(counted.words.path, static_cast<double>(path.clock()) / word_bytes);
    }
  });
}

}  // namespace

TEST_CASE("sent words and critical paths of sparse allreduces are near those of the papers, for any overlap",
          "[sparse]") {
  const int P = GENERATE(2, 3, 4, 5, 7, 8, 12, 13, 16, 24, 32);
  std::vector<Job> jobs;
  for (const std::string& algorithm : sparse_names(P))
    for (const Overlap overlap : {Overlap::full, Overlap::uniform, Overlap::none})
      if (!algorithm.starts_with("dense-")) jobs.push_back({algorithm, overlap});
  count(P, jobs);
  for (const auto& [algorithm, overlap, counted] : jobs) {
    const std::size_t bracket = algorithm.find('(');
    const auto formula = formulas.find(algorithm.substr(0, bracket));
    INFO(algorithm << ", P = " << P << ", overlap " << static_cast<int>(overlap) << ", " << counted.messages
                   << " messages");
    REQUIRE(formula != formulas.end());
    const int group = bracket == std::string::npos ? P : std::stoi(algorithm.substr(bracket + 1));
    const Words stated = (Papers{P, overlap, group}.*formula->second)();
    // Headers and lengths, of which the papers do not speak.
    const double more_words = 10.0 * static_cast<double>(counted.messages);
    const auto near = [&](double words, double stated_words) {
      CHECK(words >= 0.98 * stated_words);
      CHECK(words <= 1.02 * stated_words + more_words);
    };
    INFO("sent " << counted.words.sent << " of " << stated.sent << ", path " << counted.words.path << " of "
                 << stated.path);
    near(counted.words.sent, stated.sent);
    near(counted.words.path, stated.path);
  }
}

TEST_CASE("rounds of sparse allreduces are the thesis's latency, and those in which sums of regions tell their lengths",
          "[sparse]") {
  const int P = GENERATE(2, 4, 8, 16, 32);
  const auto ranks = static_cast<std::size_t>(P);
  const auto log_P = static_cast<std::size_t>(std::countr_zero(ranks));
  const std::size_t split = ranks - 1;
  const std::vector<std::uint32_t> indices{1, 70, 600};
  const std::vector<float> ones(indices.size(), 1);
  struct Rounds {
    std::string algorithm;
    std::size_t stated;
    std::size_t lengths;
  };
  for (const Rounds& of : std::vector<Rounds>{
           {"ssar-recursive-doubling", log_P, 0},
           {"ssar-split-allgather", split + log_P, log_P},
           {"topk-dsa", split + log_P, log_P},
           {"dsar-split-allgather", split + log_P, 0},
           {"dsar-early-switch(2)", 1 + log_P - 1 + log_P, 0},
           {"dense-rabenseifner", 2 * log_P, 0},
       }) {
    std::size_t rounds = 0;
    std::mutex mutex;
    run_on_threads(P, [&](Transport& threads) {
      bench::CriticalPathTransport path(threads, bench::PathUnit::messages);
      static_cast<void>(sparse_allreduce<float>(path, {1024, indices, ones}, {.algorithm = of.algorithm}));
      const std::lock_guard lock(mutex);
      rounds = std::max(rounds, path.clock());
    });
    INFO(of.algorithm << ", P = " << P);
    CHECK(rounds == of.stated + of.lengths);
  }
}

namespace {

struct SelectedCount {
  Words words;
  double k = 0;  // the most that a rank chose
  double in_sum = 0;
};

// A call that reuses what the one before has evaluated of the same gradient.
SelectedCount count_selected(int P, std::size_t chosen, bench::Distribution distribution,
                             const std::string& algorithm) {
  SelectedCount counted;
  std::mutex mutex;
  run_on_threads(P, [&](Transport& threads) {
    bench::CriticalPathTransport path(threads);
    CountingTransport transport(path);
    TopKAllreduce<float> allreduce(transport, step * chosen, {.algorithm = algorithm});
    const std::vector<float> gradient =
        bench::gradient_like<float>(threads.rank(), step * chosen, 1.0 / step, distribution);
    std::vector<float> values = gradient;
    static_cast<void>(allreduce.run(values, chosen));
    const std::size_t before = transport.payload().bytes;
    path.restart();
    values = gradient;
    const TopKSum<float> result = allreduce.run(values, chosen);
    const std::lock_guard lock(mutex);
    const auto raise = [](double& most, std::size_t number) { most = std::max(most, static_cast<double>(number)); };
    raise(counted.words.sent, (transport.payload().bytes - before) / sizeof(float));
    raise(counted.words.path, path.clock() / sizeof(float));
    raise(counted.k, result.chosen);
    raise(counted.in_sum, result.sum.values.size());
  });
  return counted;
}

}  // namespace

TEST_CASE("ok-topk keeps to its bounds where ranks are alike and where they are not, gtopk's path to its tree's",
          "[topk]") {
  const int P = GENERATE(2, 4, 7, 8, 16);
  const std::size_t chosen = 100 * static_cast<std::size_t>(P);
  for (const bench::Distribution distribution : {bench::Distribution::uniform, bench::Distribution::clustered}) {
    INFO("P = " << P << ", " << bench::name(distribution));
    const SelectedCount ok = count_selected(P, chosen, distribution, "ok-topk");
    const double most = 6 * std::max(ok.k, ok.in_sum);
    CHECK(ok.words.sent <= (distribution == bench::Distribution::uniform ? most * (P - 1) / P : most) + 14 * P);
    const SelectedCount tree = count_selected(P, chosen, distribution, "gtopk");
    const double level = 2 * tree.k + 8;  // and a header
    const int levels = static_cast<int>(std::bit_width(static_cast<unsigned>(P - 1)));
    CHECK(tree.words.sent == levels * level);
    CHECK(tree.words.path == 2 * levels * level);
  }
}

TEST_CASE("a critical path is the longest chain of messages", "[sparse]") {
  const auto path_of = [](int P, auto messages) {
    std::size_t bytes = 0;
    std::mutex mutex;
    run_on_threads(P, [&](Transport& threads) {
      bench::CriticalPathTransport transport(threads);
      std::vector<std::byte> data(100);
      messages(transport, std::span(data));
      const std::lock_guard lock(mutex);
      bytes = std::max(bytes, transport.clock());
    });
    return bytes;
  };
  CHECK(path_of(5, [](Transport& t, auto data) {  // along a chain
          if (t.rank() > 0) t.recv(data, t.rank() - 1);
          if (t.rank() < 4) t.send(data, t.rank() + 1);
        }) == 400);
  CHECK(path_of(5, [](Transport& t, auto data) {  // round a ring, all at once
          std::vector<std::byte> received(100);
          t.sendrecv(data, (t.rank() + 1) % 5, std::span(received), (t.rank() + 4) % 5);
        }) == 100);
  CHECK(path_of(5, [](Transport& t, auto data) {  // all to one, which takes one after the other
          for (int q = 1; q < 5; ++q)
            if (t.rank() == 0) t.recv(data, q);
          if (t.rank() > 0) t.send(data, 0);
        }) == 400);
  CHECK(path_of(5, [](Transport& t, auto data) {  // one to all, one after the other
          for (int q = 1; q < 5; ++q)
            if (t.rank() == 0) t.send(data, q);
          if (t.rank() > 0) t.recv(data, 0);
        }) == 400);
  CHECK(path_of(4, [](Transport& t, auto data) {  // 2 to 1 to 0, and 3 to 0, which came first but is looked at last
          if (t.rank() == 0) t.recv(data, 1);
          if (t.rank() == 0) t.recv(data, 3);
          if (t.rank() == 1) t.recv(data, 2);
          if (t.rank() == 1) t.send(data, 0);
          if (t.rank() > 1) t.send(data, t.rank() == 2 ? 1 : 0);
        }) == 200);
  CHECK(path_of(4, [](Transport& t, auto data) {  // two pairs, side by side
          if (t.rank() % 2 == 0) t.send(data, t.rank() + 1);
          if (t.rank() % 2 == 1) t.recv(data, t.rank() - 1);
        }) == 100);
}

}  // namespace volumes
