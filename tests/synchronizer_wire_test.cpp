// A synchronizer whose values travel as bf16.
#include <catch2/catch.hpp>

#include <dsop/counting.hpp>

#include "synchronizer_conservation.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("a synchronizer's exact policies give the exact sum of what bf16 holds", "[bf16]") {
  const int P = GENERATE(1, 2, 3, 4);  // sums of whole numbers up to 16 x 4 P
  INFO("P = " << P);
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          for (const char* const policy :
               {"dsop", "dsop:generalized-rabenseifner", "dsop:allreduce-ring", "dense", "dense:ring",
                "dense-overlapped:ring", "sparse", "sparse:ssar-split-allgather", "sparse:dense-ring"}) {
            Model<float> model(transport, policy, {.bucket_bytes = 400, .wire = Wire::bf16});
            for (std::size_t step = 1; step <= 2; ++step) {
              const float scale = step == 2 ? 0.5F : 1;
              model.run(step, {.scale = scale});
              const std::string wrong = model.wrong(step, scale);
              failures.check(wrong.empty(), std::string(policy) + ": wrong are" + wrong);
              failures.check(model.differing().empty(), std::string(policy) + ": differing are" + model.differing());
            }
          }
        }) == "");
}

TEST_CASE("by bf16 exact policies round, with the same bits on all ranks", "[bf16]") {
  const int P = GENERATE(2, 3, 5);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          for (const char* const policy :
               {"dsop:generalized-rabenseifner", "dsop:allreduce-ring", "dense", "dense:ring", "dense-overlapped",
                "sparse", "sparse:ssar-split-allgather", "sparse:dense-ring"}) {
            Model<float> model(transport, policy, {.bucket_bytes = 400, .wire = Wire::bf16});
            model.run(1, {.scale = 129});
            failures.check(!model.wrong(1, 129).empty(), std::string(policy) + ": nothing was rounded");
            failures.check(model.differing().empty(), std::string(policy) + ": differing are" + model.differing());
          }
        }) == "");
}

TEST_CASE("under dsop-bf16 factors travel in 16 bits, exactly where they are bf16", "[bf16]") {
  const int P = GENERATE(1, 2, 3, 5);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          const auto bytes = [&](const std::string& policy) {
            CountingTransport counting(transport);
            Model<float> model(counting, policy, {.bucket_bytes = 400});
            for (std::size_t step = 1; step <= 2; ++step) {
              model.run(step, {.scale = 0.5F});
              const std::string wrong = model.wrong(step, 0.5F);
              failures.check(wrong.empty(), policy + ": wrong are" + wrong);
              failures.check(model.differing().empty(), policy + ": differing are" + model.differing());
            }
            return counting.payload().bytes;
          };
          const std::size_t full = bytes("dsop:allgather");
          failures.check(bytes("dsop-bf16:allgather") < full || transport.size() == 1, "factors travel in full");
          bytes("dsop-bf16");
        }) == "");
}

TEST_CASE("every selecting policy of a synchronizer loses nothing by bf16", "[bf16]") {
  const int P = GENERATE(1, 2, 3, 4, 5, 8);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          auto turn = static_cast<std::size_t>(transport.size());
          for (const std::string& policy : selecting_policies()) {
            if (!takes_turn(turn++, transport.size() > 4 ? 2 : 1)) continue;
            const auto bytes = [&](Wire wire) {
              CountingTransport counting(transport);
              Model<float> model(counting, policy, {.bucket_bytes = 400, .wire = wire});
              for (std::size_t step = 1; step <= 3; ++step) {
                const std::string lost = losses_of_step(counting, model, step, {.scale = 129}, 129.0F);
                failures.check(lost.empty(), policy + ", step " + std::to_string(step) + ": not conserved are" + lost);
                failures.check(model.differing().empty(), policy + ": differing are" + model.differing());
              }
              return counting.payload().bytes;
            };
            const std::size_t full = bytes(Wire::full);
            failures.check(bytes(Wire::bf16) < full || transport.size() == 1, policy + " sends values in full");
          }
        }) == "");
}

TEST_CASE("a synchronizer says that values travel as bf16, and what that costs", "[bf16]") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const auto description = [&](Wire wire) {
            CountingTransport counting(transport);
            Synchronizer<float> synchronizer(counting, {.wire = wire});
            synchronizer.add("weight", {.rows = 300, .columns = 200, .max_pairs = 200}, "dsop:allreduce-ring");
            synchronizer.add("bias", {.rows = 1, .columns = 3000, .max_pairs = 0}, "dense:ring");
            synchronizer.add("large", {.rows = 1, .columns = 5000, .max_pairs = 0}, "topk:0.03");
            return synchronizer.describe();
          };
          const auto has = [&](const std::string& text, const std::string& part) {
            failures.check(text.find(part) != std::string::npos, "no \"" + part + "\" in\n" + text);
          };
          const std::string full = description(Wire::full);
          const std::string bf16 = description(Wire::bf16);
          failures.check(full.find("bf16") == std::string::npos, full);
          has(bf16, "values travel as bf16\n");
          for (const auto& [text, element] : {std::pair(full, 4UL), std::pair(bf16, 2UL)}) {
            const std::size_t topk_bytes = 2 * (32 + (150 * (4 + element) + 7) / 8 * 8);
            for (const std::size_t bytes : {4 * 20000 * element, 4 * 1000 * element, topk_bytes})
              has(text, ' ' + std::to_string(bytes) + "  ");
          }
        }) == "");
}

TEST_CASE("a synchronizer refuses bf16 where it is not supported", "[bf16]") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const auto refuses = [&](const std::string& expected, const auto& call) {
            const std::string error = argument_error_of(call);
            failures.check(error == expected, "threw \"" + error + "\", expected \"" + expected + '"');
          };
          refuses("ranks 0-2: wire is bf16, expected full for gradients in f64",
                  [&] { Synchronizer<double>(transport, {.wire = Wire::bf16}); });
          refuses(
              "ranks 0-2: parameter layer: the factor_wire of policy dsop-bf16 is bf16, expected full for factors in "
              "f64",
              [&] { Synchronizer<double>(transport).add("layer", {.rows = 3, .columns = 2}, "dsop-bf16"); });
          refuses("the ranks disagree: wire is bf16 on rank 0, full on ranks 1-2",
                  [&] { Synchronizer<float>(transport, {.wire = transport.rank() == 0 ? Wire::bf16 : Wire::full}); });
          Synchronizer<float> synchronizer(transport, {.wire = Wire::bf16});
          const Shape shape{.rows = 30, .columns = 20, .max_pairs = 1};
          const std::string only_full = " in full only, and wire is bf16";
          for (const auto& [policy, algorithm, what] :
               {std::tuple("dense:butterfly", "butterfly", "values"),
                std::tuple("dense-overlapped:rabenseifner", "rabenseifner", "values"),
                std::tuple("sparse:dense-butterfly", "dense-butterfly", "values"),
                std::tuple("dsop:allreduce-butterfly", "allreduce-butterfly", "the gradient")}) {
            const std::string expected = "ranks 0-2: parameter layer: algorithm " + std::string(algorithm) +
                                         " can't be used: it sends " + what + only_full;
            refuses(expected, [&, refused = policy] { synchronizer.add("layer", shape, refused); });
          }
          refuses(
              "ranks 0-2: parameter layer: the algorithm that sums in topk(topk-dsa) is topk-dsa, expected allgather "
              "where wire is bf16",
              [&] { synchronizer.add("layer", shape, "topk(topk-dsa):0.1"); });
          synchronizer.add("layer", shape, "dense");
          refuses("ranks 0-2: parameter layer: algorithm butterfly can't be used: it sends values" + only_full,
                  [&] { synchronizer.set_policy("layer", "dense:butterfly"); });
          std::vector<float> G(600, 1);
          synchronizer.begin();
          synchronizer.give("layer", {G.data(), 30, 20});
          synchronizer.finish();
          failures.check(G == std::vector<float>(600, 3), "what was refused has changed the policy");
          failures.check(synchronizer.last_step("layer").algorithm == "ring",
                         synchronizer.last_step("layer").algorithm);
        }) == "");
}
