// Policies that a program has registered: each rank's compressed gradient goes to all.
#pragma once

#include <algorithm>
#include <memory>

#include <dsop/policy.hpp>

#include "base/error_of.hpp"
#include "call/agreement_seconds.hpp"
#include "call/communicator.hpp"
#include "memory/workspace.hpp"
#include "patterns/agreed_errors.hpp"
#include "patterns/bruck_allgather.hpp"
#include "patterns/steps.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/buckets.hpp"
#include "synchronizer/description.hpp"
#include "synchronizer/parameter.hpp"

namespace dsop::synchronizer {

template <class T>
class CompressedPolicy final : public Policy<T> {
 public:
  CompressedPolicy(std::string text, std::unique_ptr<Compressor<T>> compressor)
      : text_(std::move(text)), compressor_(std::move(compressor)), bytes_(compressor_->message_bytes()) {}

  void check(Parameter<T>& parameter, const PolicyTerms& terms) override {
    agree_on_errors(terms.transport, error_of([&] { parameter.residual.reserve(parameter.elements()); }));
  }

  void start(Parameter<T>& parameter, RunningStep<T>& step) override {
    step.calls.start([this, &parameter, &step] { sum(parameter, step); });
  }

  void describe(const Parameter<T>& parameter, Description<T>& description) const override {
    const int P = description.transport.size();
    const patterns::Network network(description.machine,
                                    attachment<CommunicatorState>(description.transport).ranks.group.nodes, P);
    description.alone(parameter, text_,
                      Predicted{static_cast<std::size_t>(P - 1) * bytes_, patterns::bruck_seconds(network, bytes_)});
  }

 private:
  void sum(Parameter<T>& parameter, const RunningStep<T>& step) {
    const OnBehalf on_behalf(step.transport, parameter.name);
    const auto P = static_cast<std::size_t>(step.transport.size());
    const auto r = static_cast<std::size_t>(step.transport.rank());
    Call call(step.transport, "a sum of compressed gradients", parameter.shape.rows, parameter.shape.columns,
              data_type<T>);
    std::span<std::byte> messages;  // from this rank's on, counted round
    std::span<T> sum;
    call.check([&] {
      parameter.reserve();
      messages = messages_.at_least(P * bytes_);
      sum = sum_.at_least(parameter.elements());
      const std::span<T> values = parameter.next_residual();
      parameter.make_gradient(static_cast<T>(step.terms.scale),
                              {values.data(), parameter.shape.rows, parameter.shape.columns});
      compressor_->encode(values, messages.first(bytes_));
    });
    call.same("the bytes of a message", bytes_).agree();
    patterns::bruck_rounds(step.transport, messages, bytes_, Tag::payload);
    all_throw_if<T>(step.transport, error_of([&] {
                      std::ranges::fill(sum, T{0});
                      for (std::size_t q = 0; q < P; ++q)
                        compressor_->decode(messages.subspan((q + P - r) % P * bytes_, bytes_), sum);
                    }));
    update_target(parameter.given, SparseVectorView<T>{.dimension = sum.size(), .values = sum});
    parameter.keep_next_residual();
    parameter.last_step = {.algorithm = text_};
  }

  std::string text_;
  std::unique_ptr<Compressor<T>> compressor_;
  std::size_t bytes_;
  Workspace<std::byte> messages_;
  Workspace<T> sum_;
};

}  // namespace dsop::synchronizer
