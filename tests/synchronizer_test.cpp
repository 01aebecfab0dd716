#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>

#include <dsop/counting.hpp>

#include "synchronizer_conservation.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("a synchronizer's exact policies give the sum of all forms of gradients") {
  const int P = GENERATE(1, 2, 3, 4, 5, 8);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, check_exact_policies<float>) == "");
  CHECK(failures_on_threads(P, check_exact_policies<double>) == "");
}

TEST_CASE("every selecting policy of a synchronizer loses nothing, nor when it changes") {
  const int P = GENERATE(1, 2, 3, 4, 5, 8);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, check_conservation<float>) == "");
  CHECK(failures_on_threads(P, check_conservation<double>) == "");
}

TEST_CASE("buckets change neither sums nor what is left out of them") {
  const int P = GENERATE(1, 3, 4);
  const std::size_t bucket_bytes = GENERATE(as<std::size_t>{}, 0, 1, 80, 5000, 1 << 20);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          Model<float> model(transport, "dense", {.bucket_bytes = bucket_bytes});
          for (std::size_t step = 1; step <= 2; ++step) {
            model.run(step);
            const std::string wrong = model.wrong(step);
            failures.check(wrong.empty(), "wrong are" + wrong);
          }
        }) == "");
}

// A table without what is measured, and what stands below.
static std::string planned_part(const std::string& description) {
  std::istringstream lines(description);
  std::string planned;
  std::size_t width = std::string::npos;
  for (std::string line; std::getline(lines, line) && !line.starts_with("warning") && !line.starts_with("besides");) {
    if (line.starts_with("parameter")) width = line.find("  measured");
    line = line.substr(0, width);
    planned += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return planned;
}

TEST_CASE("small dense gradients are sent together, as described") {
  CHECK(failures_on_threads(4, [](Transport& transport, Failures& failures) {
          const auto sent = [&](std::size_t bucket_bytes, std::string& description) {
            CountingTransport counting(transport);
            Model<double> model(counting, "dense:ring", {.bucket_bytes = bucket_bytes});
            description = model.synchronizer().describe();
            const Traffic before = counting.payload();
            model.run(1);
            failures.check(planned_part(model.synchronizer().describe()) == planned_part(description),
                           "the description changes with a step");
            return Traffic{counting.payload().messages - before.messages, counting.payload().bytes - before.bytes};
          };
          std::string fused;
          std::string alone;
          const Traffic in_one = sent(1 << 20, fused);
          const Traffic one_by_one = sent(0, alone);
          failures.check(in_one.messages == 6, "one ring of four ranks takes more messages");
          failures.check(one_by_one.messages == 6 * (layer_cases().size() - 1), "the ten, one empty, are not alone");
          failures.check(fused.find("bucket 1 ") != std::string::npos && fused.find("in bucket 1") != std::string::npos,
                         fused);
          failures.check(alone.find("bucket") == std::string::npos, alone);
          const std::size_t total = fused.find("total");
          failures.check(fused.find(std::to_string(in_one.bytes), total) != std::string::npos || transport.rank() != 0,
                         "sent " + std::to_string(in_one.bytes) + " bytes:\n" + fused);
        }) == "");
}

TEST_CASE("a synchronizer describes what it does") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport);
          synchronizer.add("weight", {.rows = 300, .columns = 200, .max_pairs = 2}, "dsop");
          synchronizer.add("kernel", {.rows = 1, .columns = 5000, .max_pairs = 0}, "sparse");
          synchronizer.add("large", {.rows = 1, .columns = 5000, .max_pairs = 0}, "topk:0.01");
          synchronizer.add("own", {.rows = 1, .columns = 5, .max_pairs = 0}, "none");
          const auto has = [&](const std::string& text) {
            const std::string description = synchronizer.describe();
            failures.check(description.find(text) != std::string::npos, "no " + text + " in\n" + description);
          };
          has("4 parameters in f32, 3 ranks; machine: ");
          has("known after a step");
          has("topk:0.01");
          has("not summed");
          const bench::InputFactors<float> factors(1, transport.rank(), 2, 300, 200);
          std::vector<float> weight(300 * 200), kernel(5000), large(5000, 1);
          kernel[7] = 1;
          synchronizer.begin();
          synchronizer.give("large", {large.data(), 1, 5000});
          synchronizer.give("kernel", {kernel.data(), 1, 5000});
          synchronizer.give("weight", factors.view(), {weight.data(), 300, 200});
          synchronizer.finish();
          has("not given in the last step");
          has("besides gradients a step holds 0.0 MiB of factors, given, and 0.");
          has(synchronizer.last_step("weight").algorithm);
          has(synchronizer.last_step("kernel").algorithm);
          failures.check(synchronizer.last_step("kernel").in_sum == 1, "the sum has more than one element");
          failures.check(synchronizer.last_step("large").chosen == 50, "other than k were chosen");
          failures.check(synchronizer.last_step("own").algorithm.empty(), "what was not given was summed");
          failures.check(synchronizer.describe().find("known after a step") == std::string::npos, "still not known");
        }) == "");
}

TEST_CASE("a synchronizer describes a changed policy by nothing that the one before did") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const Machine machine;
          Synchronizer<float> changed(transport, {.machine = machine});
          const auto add = [](Synchronizer<float>& to, const std::string& selected, const std::string& exact) {
            to.add("large", {.rows = 1, .columns = 5000, .max_pairs = 0}, selected);
            to.add("kernel", {.rows = 1, .columns = 5000, .max_pairs = 0}, exact);
          };
          add(changed, "ok-topk(2):0.01", "sparse:allgather");
          std::vector<float> large(5000, 1), kernel(5000);
          kernel[7] = 1;
          changed.begin();
          changed.give("kernel", {kernel.data(), 1, 5000});
          changed.give("large", {large.data(), 1, 5000});
          changed.finish();
          changed.set_policy("large", "gtopk:0.02");
          changed.set_policy("kernel", "sparse:ssar-split-allgather");
          Synchronizer<float> fresh(transport, {.machine = machine});
          add(fresh, "gtopk:0.02", "sparse:ssar-split-allgather");
          failures.check(changed.describe() == fresh.describe(), changed.describe() + "expected\n" + fresh.describe());
          const ParameterStep last = changed.last_step("large");
          failures.check(last.algorithm.empty() && last.chosen == 0, "the last step was another policy's");
        }) == "");
}

TEST_CASE("gradients are summed while nobody waits", "[peeks]") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          Synchronizer<float> synchronizer(transport, {.bucket_bytes = 0});
          synchronizer.add("one", {.rows = 1, .columns = 1, .max_pairs = 0}, "dense");
          std::atomic<float> G = 1;  // read while the thread may write it
          synchronizer.begin();
          synchronizer.give("one", {reinterpret_cast<float*>(&G), 1, 1});
          const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (G.load() != 3 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
          failures.check(G.load() == 3, "nothing happened");
          synchronizer.finish();
        }) == "");
}

TEST_CASE("without overlap dense-overlapped starts before finish() and dense does not, and their bits are the same",
          "[peeks]") {
  const auto sums = [](const std::string& policy, bool starts_early) {
    std::vector<std::vector<float>> G(3, std::vector<float>(1000));
    CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
            Synchronizer<float> synchronizer(transport, {.bucket_bytes = 4, .overlap = false});
            synchronizer.add("one", {.rows = 1, .columns = 1, .max_pairs = 0}, policy);
            synchronizer.add("many", {.rows = 1, .columns = 1000, .max_pairs = 0}, policy);
            const auto rank = static_cast<std::size_t>(transport.rank());
            for (std::size_t i = 0; i < 1000; ++i) G[rank][i] = 1 / static_cast<float>(3 * i + rank + 1);
            std::atomic<float> one = 1;  // read while the thread may write it
            synchronizer.begin();
            synchronizer.give("one", {reinterpret_cast<float*>(&one), 1, 1});
            const auto limit = starts_early ? std::chrono::seconds(20) : std::chrono::milliseconds(50);
            const auto end = std::chrono::steady_clock::now() + limit;
            while (one.load() != 3 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
            failures.check((one.load() == 3) == starts_early, policy + (starts_early ? " waits" : " does not wait"));
            synchronizer.give("many", {G[rank].data(), 1, 1000});
            synchronizer.finish();
            failures.check(one.load() == 3, policy + " gives another sum");
          }) == "");
    return G;
  };
  CHECK(sums("dense:ring", false) == sums("dense-overlapped:ring", true));
}

TEST_CASE("a synchronizer that ends within a step waits for what it has started") {
  const int P = GENERATE(1, 3);
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          std::vector<float> G(1000, 1), bias(3);
          {
            Synchronizer<float> first(transport);
            first.add("weight", {.rows = 10, .columns = 100, .max_pairs = 0}, "sparse");
            first.add("bias", {.rows = 1, .columns = 3, .max_pairs = 0}, "dense");
            first.begin();
            Synchronizer<float> moved(std::move(first));
            moved.give("weight", {G.data(), 10, 100});
            moved.give("bias", {bias.data(), 1, 3});
          }
          failures.check(G == std::vector<float>(1000, static_cast<float>(transport.size())), "it did not wait");
        }) == "");
}
