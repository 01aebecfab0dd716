// A policy of the program's own: of each element only its sign travels, 1 bit, and one scale a message. What that
// rounds off stays behind and is added to the next gradient (Seide et al. 2014, Karimireddy et al. 2019). Ranks are
// threads.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <dsop/policy.hpp>
#include <dsop/synchronizer.hpp>
#include <dsop/threads.hpp>
#include <vector>

namespace {

class Signs final : public dsop::Compressor<float> {
 public:
  explicit Signs(std::size_t elements) : elements_(elements) {}

  std::size_t message_bytes() const override { return sizeof(float) + (elements_ + 7) / 8; }

  void encode(std::span<float> values, std::span<std::byte> message) override {
    float sum = 0;
    for (const float value : values) sum += std::abs(value);
    const float scale = elements_ == 0 ? 0 : sum / static_cast<float>(elements_);
    std::memset(message.data(), 0, message.size());
    std::memcpy(message.data(), &scale, sizeof scale);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0) message[sizeof scale + i / 8] |= std::byte{1} << (i % 8);
      values[i] -= values[i] < 0 ? -scale : scale;
    }
  }

  void decode(std::span<const std::byte> message, std::span<float> sum) override {
    float scale = 0;
    std::memcpy(&scale, message.data(), sizeof scale);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const bool is_negative = (message[sizeof scale + i / 8] >> (i % 8) & std::byte{1}) != std::byte{0};
      sum[i] += is_negative ? -scale : scale;
    }
  }

 private:
  std::size_t elements_;
};

// Each rank pulls the weights to places of its own; they end in the middle, at 0, 1, 2, ...
void train(dsop::Transport& transport) {
  std::vector<float> weights(8), gradient(8);
  dsop::Synchronizer<float> model(transport);
  model.add("weights", {.rows = 1, .columns = 8, .max_pairs = 0}, "signs");
  const float aside = static_cast<float>(2 * transport.rank() - transport.size() + 1);
  for (int step = 0; step < 500; ++step) {
    for (std::size_t i = 0; i < 8; ++i) gradient[i] = weights[i] - (static_cast<float>(i) + aside);
    model.begin({.scale = 1.0 / transport.size()});
    model.give("weights", {gradient.data(), 1, 8});
    model.finish();
    for (std::size_t i = 0; i < 8; ++i) weights[i] -= 0.05F * gradient[i];
  }
  if (transport.rank() != 0) return;
  for (const float weight : weights) std::printf("%ld ", std::lround(weight));
  std::printf("\n");
}

}  // namespace

int main() {
  dsop::register_policy<float>("signs", [](const dsop::Shape& shape, const std::string&) {
    return std::make_unique<Signs>(shape.rows * shape.columns);
  });
  dsop::run_on_threads(4, train);
}
