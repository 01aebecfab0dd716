#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/types.hpp>

#include "collect.hpp"
#include "compare/gloo.hpp"
#include "host.hpp"
#include "launch/memory.hpp"
#include "patterns/ring.hpp"

namespace dsop::bench::compare {
namespace {

// Ranks that are connected already meet again: all set a key each, together, and as often.
class RanksAsStore final : public gloo::rendezvous::Store {
 public:
  explicit RanksAsStore(Transport& transport) : transport_(transport) {}

  void set(const std::string& key, const std::vector<char>& value) override {
    const patterns::Ring ring(transport_);
    const std::array<std::size_t, 2> own{key.size(), value.size()};
    const std::vector<std::array<std::size_t, 2>> lengths = of_all_ranks(transport_, own);
    values_[key] = value;
    for (int step = 1; step < transport_.size(); ++step) {
      const int to = ring.wrap(transport_.rank() + step);
      const int from = ring.wrap(transport_.rank() - step);
      const auto [key_length, value_length] = lengths[static_cast<std::size_t>(from)];
      std::string its_key(key_length, ' ');
      std::vector<char> its_value(value_length);
      transport_.sendrecv(std::span(key), to, std::span(its_key), from, Tag::agreement);
      transport_.sendrecv(std::span(value), to, std::span(its_value), from, Tag::agreement);
      values_[its_key] = its_value;
    }
  }
  std::vector<char> get(const std::string& key) override { return values_.at(key); }
  void wait(const std::vector<std::string>&) override {}

 private:
  Transport& transport_;
  std::map<std::string, std::vector<char>> values_;
};

std::shared_ptr<gloo::Context> connected(Transport& transport) {
  const bool one_host = launch::ranks_on_this_host(transport).size() == static_cast<std::size_t>(transport.size());
  auto device =
      gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(one_host ? "127.0.0.1" : host_name().c_str()));
  RanksAsStore store(transport);
  const auto context = std::make_shared<gloo::rendezvous::Context>(transport.rank(), transport.size());
  context->connectFullMesh(store, device);
  return context;
}

class GlooSum final : public VectorSum {
 public:
  GlooSum(const std::string& name, std::function<void()> sum) : name_(name), sum_(std::move(sum)) {}
  void run() override { sum_(); }
  std::string used() const override { return name_; }

 private:
  std::string name_;
  std::function<void()> sum_;
};

// One of Gloo's older algorithms: an object bound to a vector, whose length is an int.
template <class T>
std::function<void()> halving_doubling(std::shared_ptr<gloo::Context> context, std::span<T> elements) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (elements.size() > most)
    throw ArgumentError("Gloo's halving and doubling sums at most " + std::to_string(most) +
                        " elements, and these are " + std::to_string(elements.size()));
  const auto algorithm = std::make_shared<gloo::AllreduceHalvingDoubling<T>>(
      std::move(context), std::vector<T*>{elements.data()}, static_cast<int>(elements.size()));
  return [algorithm] { algorithm->run(); };
}

template <class T>
std::function<void()> ring(const std::shared_ptr<gloo::Context>& context, std::span<T> elements) {
  const auto options = std::make_shared<gloo::AllreduceOptions>(context);
  options->setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  options->setOutput(elements.data(), elements.size());
  options->setReduceFunction(
      [](void* sum, const void* a, const void* b, std::size_t count) { gloo::sum<T>(sum, a, b, count); });
  return [options] { gloo::allreduce(*options); };
}

}  // namespace

std::string gloo_unavailable() {
  return "";
}

template <class T>
std::unique_ptr<VectorSum> gloo_sum(Transport& transport, GlooAlgorithm algorithm, std::span<T> elements,
                                    const std::string& name) {
  const std::shared_ptr<gloo::Context> context = connected(transport);
  return std::make_unique<GlooSum>(
      name, algorithm == GlooAlgorithm::ring ? ring(context, elements) : halving_doubling(context, elements));
}

#define INSTANTIATE(T) \
  template std::unique_ptr<VectorSum> gloo_sum(Transport&, GlooAlgorithm, std::span<T>, const std::string&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::bench::compare
