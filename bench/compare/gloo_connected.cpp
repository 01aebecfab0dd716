#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/context.h>
#include <gloo/math.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/types.hpp>

#include "collect.hpp"
#include "compare/gloo.hpp"
#include "host.hpp"
#include "patterns/ring.hpp"

namespace dsop::bench::compare {
namespace {

// This host's address by which all ranks can reach it.
std::string reachable_name(Transport& transport) {
  const std::vector<std::size_t> hosts = of_all_ranks(transport, std::hash<std::string>()(host_name()));
  const bool one_host = std::count(hosts.begin(), hosts.end(), hosts[0]) == transport.size();
  return one_host ? "127.0.0.1" : host_name();
}

// A Gloo context whose ranks have met over our transport: no file or server for it is needed.
class Context final : public gloo::Context {
 public:
  explicit Context(Transport& transport) : gloo::Context(transport.rank(), transport.size()) {
    const std::string name = reachable_name(transport);
    device_ = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(name.c_str()));
    transportContext_ = device_->createContext(rank, size);
    transportContext_->setTimeout(getTimeout());
    std::vector<Address> addresses(static_cast<std::size_t>(size));  // where each rank waits for this one
    const patterns::Ring ring(transport);
    for (int step = 1; step < size; ++step) {
      const int to = ring.wrap(rank + step);
      const int from = ring.wrap(rank - step);
      const std::vector<char> own = transportContext_->createPair(to)->address().bytes();
      Address sent{own.size(), {}};
      std::copy(own.begin(), own.end(), sent.bytes.begin());
      transport.sendrecv(std::span(&sent, 1), to, std::span(&addresses[static_cast<std::size_t>(from)], 1), from,
                         Tag::agreement);
    }
    // Everybody in the same order, since connecting waits for the other side.
    for (int other = 0; other < size; ++other) {
      if (other == rank) continue;
      const Address& address = addresses[static_cast<std::size_t>(other)];
      transportContext_->getPair(other)->connect({address.bytes.begin(), address.bytes.begin() + address.length});
    }
  }

 private:
  struct Address {
    std::size_t length = 0;
    std::array<char, gloo::transport::Address::kMaxByteSize> bytes = {};
  };
};

class GlooSum : public VectorSum {
 public:
  explicit GlooSum(const std::string& name) : name_(name) {}
  std::string used() const override { return name_; }

 private:
  std::string name_;
};

template <class T>
class Ring final : public GlooSum {
 public:
  Ring(Transport& transport, std::span<T> elements, const std::string& name)
      : GlooSum(name), options_(std::make_shared<Context>(transport)) {
    options_.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options_.setOutput(elements.data(), elements.size());
    options_.setReduceFunction(
        [](void* sum, const void* a, const void* b, std::size_t count) { gloo::sum<T>(sum, a, b, count); });
  }
  void run() override { gloo::allreduce(options_); }

 private:
  gloo::AllreduceOptions options_;
};

// One of Gloo's older algorithms: an object bound to a vector, whose length is an int.
template <class T>
class HalvingDoubling final : public GlooSum {
 public:
  HalvingDoubling(Transport& transport, std::span<T> elements, const std::string& name)
      : GlooSum(name),
        algorithm_(std::make_unique<gloo::AllreduceHalvingDoubling<T>>(
            std::make_shared<Context>(transport), std::vector<T*>{elements.data()}, int_length(elements.size()))) {}
  void run() override { algorithm_->run(); }

 private:
  static int int_length(std::size_t length) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
    if (length > most)
      throw ArgumentError("Gloo's halving and doubling sums at most " + std::to_string(most) +
                          " elements, and these are " + std::to_string(length));
    return static_cast<int>(length);
  }

  std::unique_ptr<gloo::AllreduceHalvingDoubling<T>> algorithm_;  // aside: its destructor may throw
};

}  // namespace

std::string gloo_unavailable() {
  return "";
}

template <class T>
std::unique_ptr<VectorSum> gloo_sum(Transport& transport, GlooAlgorithm algorithm, std::span<T> elements,
                                    const std::string& name) {
  if (algorithm == GlooAlgorithm::ring) return std::make_unique<Ring<T>>(transport, elements, name);
  return std::make_unique<HalvingDoubling<T>>(transport, elements, name);
}

#define INSTANTIATE(T) \
  template std::unique_ptr<VectorSum> gloo_sum(Transport&, GlooAlgorithm, std::span<T>, const std::string&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::bench::compare
