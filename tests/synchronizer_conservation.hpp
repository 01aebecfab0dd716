// Nothing that a synchronizer's selecting policies leave out may be lost, over any transport.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <dsop/algorithms.hpp>

#include "failures.hpp"
#include "sparse_allreduce_cases.hpp"
#include "synchronizer_cases.hpp"
#include "turns.hpp"

namespace dsop::tests {

/// Every algorithm that selects, at some density, and one whose sum is named.
inline std::vector<std::string> selecting_policies() {
  std::vector<std::string> policies;
  for (const AlgorithmDescription& algorithm : describe_algorithms())
    if (algorithm.family == "topk") policies.push_back(algorithm.name + (policies.size() % 2 == 0 ? ":0.05" : ":0.2"));
  policies.emplace_back("topk(allgather):0.05");
  return policies;
}

/// The sum over ranks of what they have left behind, one layer after the other.
template <class T>
std::vector<T> all_residuals(Transport& transport, Model<T>& model) {
  std::vector<T> own;
  for (const LayerCase& layer : model.layers()) {
    const std::span<const T> residual = model.synchronizer().residual(layer.name);
    own.insert(own.end(), residual.begin(), residual.end());
    own.resize(own.size() + layer.elements() - residual.size());
  }
  return in_full(sparse_allreduce<T>(transport, {own.size(), {}, own}).sum);
}

/// Runs a step. Nothing may be lost: what the ranks had left behind and what they give, `factor` times, is what stands
/// in the gradients and what they leave behind now. With whole numbers, and factors that are powers of two.
template <class T>
std::string losses_of_step(Transport& transport, Model<T>& model, std::size_t step, const Step& terms, T factor) {
  const std::vector<T> before = all_residuals(transport, model);
  model.run(step, terms);
  const std::vector<T> after = all_residuals(transport, model);
  std::string names;
  std::size_t first = 0;
  for (const LayerCase& layer : model.layers()) {
    std::vector<T> in = expected_sum<T>(layer, transport.size(), step, factor);
    std::vector<T> out = model.result(layer);
    if (out.size() != in.size()) return "gaps are written";
    for (std::size_t e = 0; e < in.size(); ++e) in[e] += before[first + e];
    for (std::size_t e = 0; e < out.size(); ++e) out[e] += after[first + e];
    if (in != out) names += " " + layer.name;
    first += layer.elements();
  }
  return names;
}

/// Steps under policies that select, with changes of policy between them; policies take turns.
template <class T>
void check_conservation(Transport& transport, Failures& failures) {
  std::size_t turn = static_cast<std::size_t>(transport.size()) + sizeof(T) / 4;
  for (const std::string& policy : selecting_policies())
    for (const bool inside : {false, true}) {
      if (!takes_turn(turn++, 5)) continue;
      Model<T> model(transport, policy, {.bucket_bytes = 400, .residual_holds_step = inside});
      std::size_t step = 0;
      const auto run = [&](const std::string& what) {
        const Step terms{.scale = ++step % 2 == 0 ? 0.5 : 1, .learning_rate = step % 3 == 0 ? 0.25 : 2};
        const auto factor = static_cast<T>(terms.scale * (inside ? terms.learning_rate : 1));
        const std::string lost = losses_of_step(transport, model, step, terms, factor);
        failures.check(lost.empty(), policy + what + ", step " + std::to_string(step) + ": not conserved are" + lost);
        const std::string differing = model.differing();
        failures.check(differing.empty(), policy + what + ": the ranks have different gradients of" + differing);
      };
      const auto change_to = [&](const std::string& to) {
        for (const LayerCase& layer : model.layers()) model.synchronizer().set_policy(layer.name, to);
      };
      for (int i = 0; i < 3; ++i) run("");
      failures.check(model.synchronizer().last_step("last.weight").chosen > 0 || transport.rank() > 0,
                     policy + ": nothing was chosen");
      failures.check(model.synchronizer().residual("last.weight").size() == 61 * 43, policy + ": no residual");
      for (const char* const exact : {"dsop", "dense:ring", "sparse"}) {
        change_to(exact);
        run(std::string(" to ") + exact);
        run(std::string(" to ") + exact + " and on");
        for (const LayerCase& layer : model.layers())
          failures.check(model.synchronizer().residual(layer.name).empty(), "an exact policy leaves something behind");
        change_to(policy);
        run(std::string(" back from ") + exact);
      }
      change_to(policy.substr(0, policy.find(':')) + ":0.5");
      run(" to another density");
    }
}

}  // namespace dsop::tests
