// Sparse and top-k allreduces that were started: as those that were not, and what happens where one goes wrong.
#include <catch2/catch.hpp>

#include <optional>

#include <dsop/collectives.hpp>

#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace started_sums {
namespace {

const TopKCase case_of_all{1009, 50, bench::Distribution::power_law};

// A rank's vector that is mostly zeros, as indices and values.
struct Sparse {
  Sparse(int rank, std::size_t step) : dense(whole_gradient<float>(case_of_all, rank, step)) {
    for (std::uint32_t i = 0; i < dense.size(); ++i)
      if (dense[i] != 0) indices.push_back(i);
    for (const std::uint32_t i : indices) values.push_back(dense[i]);
  }
  SparseVectorView<float> view() const { return {dense.size(), indices, values}; }

  std::vector<float> dense;
  std::vector<std::uint32_t> indices = {};
  std::vector<float> values = {};
};

}  // namespace

TEST_CASE("started sparse and top-k allreduces give the bits of those that are not", "[started]") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          SparseAllreduce<float> object(transport), same_object(transport);
          for (const std::string& name : topk_names()) {
            TopKAllreduce<float> topk(transport, case_of_all.elements, {.algorithm = name});
            TopKAllreduce<float> same_topk(transport, case_of_all.elements, {.algorithm = name});
            std::vector<float> values(case_of_all.elements), same_values;
            for (std::size_t step = 0; step < 3; ++step) {
              const Sparse own(transport.rank(), step);
              for (std::size_t i = 0; i < values.size(); ++i) values[i] += own.dense[i];
              same_values = values;
              SparseSum<float> sum, sum_of_object;
              TopKSum<float> selected;
              std::vector<float> dense(own.dense);
              Pending last = start_allreduce(transport, std::span<float>(dense));
              Pending third = topk.start(values, case_of_all.k, selected);
              Pending second = object.start(own.view(), sum_of_object);
              Pending first = start_sparse_allreduce<float>(transport, own.view(), sum);
              first.wait();
              third.wait();
              second.wait();
              last.wait();
              failures.check(hash_of(sum.sum) == hash_of(sparse_allreduce<float>(transport, own.view()).sum), "sparse");
              failures.check(in_full(sum.sum) == dense, "another sum than the dense one");
              failures.check(hash_of(sum_of_object.sum) == hash_of(same_object.run(own.view()).sum), "an object's");
              const TopKSum<float> same = same_topk.run(same_values, case_of_all.k);
              failures.check(hash_of(selected.sum) == hash_of(same.sum), name + ": another sum");
              failures.check(std::ranges::equal(selected.took_part, same.took_part), name + ": others took part");
              failures.check(values == same_values, name + ": another residual");
              failures.check(topk.state() == same_topk.state(), name + ": another state");
            }
          }
        }) == "");
}

TEST_CASE("an error in a started sparse or top-k allreduce comes out of wait(), on all ranks", "[started]") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const bool is_bad = transport.rank() == 1;
          const Sparse own(transport.rank(), 0);
          std::vector<std::uint32_t> indices = own.indices;
          if (is_bad) std::swap(indices[0], indices[1]);
          SparseSum<float> sum, next_sum;
          Pending sparse = start_sparse_allreduce<float>(transport, {own.dense.size(), indices, own.values}, sum);
          TopKAllreduce<float> topk(transport, own.dense.size());
          std::vector<float> values = own.dense;
          TopKSum<float> selected, next_selected;
          Pending bad = topk.start(values, is_bad ? values.size() + 1 : 50, selected);
          Pending next = start_sparse_allreduce<float>(transport, own.view(), next_sum);
          const std::string of_sparse = argument_error_of([&] { sparse.wait(); });
          failures.check(of_sparse.starts_with("rank 1: own.indices"), of_sparse);
          const std::string of_topk = argument_error_of([&] { bad.wait(); });
          failures.check(of_topk == "rank 1: k is 1010, expected at most values.size() = 1009", of_topk);
          failures.check(values == own.dense && topk.state() == TopKState{},
                         "a call that failed has changed something");
          next.wait();
          failures.check(in_full(next_sum.sum) == in_full(sparse_allreduce<float>(transport, own.view()).sum),
                         "the next");
          topk.start(values, 50, next_selected).wait();
          failures.check(next_selected.chosen == 50, "the next of the same object");
        }) == "");
}

TEST_CASE("a handle or an object that ends waits for what was started", "[started]") {
  CHECK(failures_on_threads(4, [](Transport& transport, Failures& failures) {
          const Sparse own(transport.rank(), 0);
          const std::vector<float> expected = in_full(sparse_allreduce<float>(transport, own.view()).sum);
          SparseSum<float> sum, sum_of_object;
          { const Pending lost = start_sparse_allreduce<float>(transport, own.view(), sum); }
          failures.check(in_full(sum.sum) == expected, "the handle's end did not wait");
          std::vector<float> values = own.dense;
          TopKSum<float> selected;
          std::optional<Pending> of_sparse, of_topk;
          {
            SparseAllreduce<float> object(transport);
            TopKAllreduce<float> topk(transport, values.size(), {.algorithm = "topk"});
            of_sparse = object.start(own.view(), sum_of_object);
            of_topk = topk.start(values, 50, selected);
            TopKAllreduce<float> moved = std::move(topk);
          }
          failures.check(in_full(sum_of_object.sum) == expected, "the object's end did not wait");
          failures.check(selected.chosen == 50, "the selecting object's end did not wait");
          of_sparse->wait();
          of_topk->wait();
        }) == "");
}

}  // namespace started_sums
