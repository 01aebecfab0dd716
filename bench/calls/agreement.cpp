// What ranks send to agree on a call.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>

#include <dsop/collectives.hpp>
#include <dsop/counting.hpp>
#include <dsop/mpi.hpp>
#include <dsop/sparse_allreduce.hpp>
#include <dsop/topk_allreduce.hpp>

#include "calls.hpp"

namespace calls {
namespace {

/// Runs a call until it is steady, then prints what it sends, its mean over many calls.
void count(const Options& options, const std::string& of_case, const std::string& call,
           const dsop::CountingTransport& counting, const std::function<void()>& run) {
  constexpr int settling = 512;  // slots that are too long shrink by a sixty-fourth a call
  constexpr int counted = 32;    // in every 32nd call ok-topk looks for new thresholds
  for (int i = 0; i < settling; ++i) run();
  const dsop::Traffic agreement = counting.agreement(), payload = counting.payload();
  for (int i = 0; i < counted; ++i) run();
  const auto a_call = [](std::size_t now, std::size_t before) { return static_cast<double>(now - before) / counted; };
  std::array<double, 4> sent{
      a_call(counting.agreement().messages, agreement.messages), a_call(counting.agreement().bytes, agreement.bytes),
      a_call(counting.payload().messages, payload.messages), a_call(counting.payload().bytes, payload.bytes)};
  MPI_Allreduce(MPI_IN_PLACE, sent.data(), 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank_of_this() != 0) return;
  std::printf(options.json ? R"({"scene":"agreement","case":"%s","call":"%s","ranks":%d,"agreement_messages":%g,)"
                             R"("agreement_bytes":%g,"payload_messages":%g,"payload_bytes":%g})"
                             "\n"
                           : "  agreement           %-10s %-33s %5d  sends to agree %g messages of %g bytes in all, "
                             "else %g of %g\n",
              of_case.c_str(), call.c_str(), number_of_ranks(), sent[0], sent[1], sent[2], sent[3]);
  std::fflush(stdout);
}

}  // namespace

void agreement(const Options& options) {
  dsop::CountingTransport counting(dsop::Communicator(MPI_COMM_WORLD).transport());
  for (const std::size_t n : {std::size_t{10}, std::size_t{100}}) {
    std::vector<float> factors(8 * n, 1.0F), gradient(n * n);
    const auto pairs = [&](std::size_t k) {
      return dsop::Factors<float>{{factors.data(), k, n}, {factors.data(), k, n}};
    };
    dsop::OuterProduct<float> of_one_pair(counting, {n, n, 1});
    dsop::OuterProduct<float> of_up_to_8(counting, {n, n, 8});
    std::minstd_rand random(static_cast<unsigned>(rank_of_this() + 1));
    std::uniform_int_distribution<std::size_t> draw(1, 8);
    const dsop::MatrixView<float> G(gradient.data(), n, n);
    count(options, square(n), "OuterProduct::run, 1 pair", counting, [&] { of_one_pair.run(pairs(1), G); });
    count(options, square(n), "OuterProduct::run, 1 to 8 pairs", counting,
          [&] { of_up_to_8.run(pairs(draw(random)), G); });
    count(options, square(n), "dsop(), 1 pair", counting, [&] { dsop::dsop<float>(counting, pairs(1), G); });
  }
  std::vector<float> vector(1000, 0.0F);
  const std::array<std::uint32_t, 2> indices{3, 500};
  const std::array<float, 2> values{1, 2};
  count(options, "1000", "allreduce", counting, [&] { dsop::allreduce<float>(counting, vector); });
  count(options, "1000", "sparse_allreduce, 2 not zero", counting, [&] {
    static_cast<void>(dsop::sparse_allreduce<float>(counting, {vector.size(), indices, values}));
  });
  dsop::TopKAllreduce<float> topk(counting, vector.size());
  count(options, "1000", "TopKAllreduce::run, k = 10", counting, [&] {
    std::iota(vector.begin(), vector.end(), 1.0F);
    static_cast<void>(topk.run(vector, 10));
  });
}

}  // namespace calls
