#include "learn/linear/training.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <sstream>

#include "launch/launch.hpp"
#include "learn/layers/finite.hpp"
#include "learn/training/checkpoint_file.hpp"
#include "sparse/vector.hpp"

namespace dsop::learn {
namespace {

std::string not_finite(const std::string& what, std::size_t epoch, const std::string& where,
                       const LinearSettings& settings) {
  std::ostringstream text;
  text << what << " not finite any more at " << where << "; --learning-rate is " << settings.learning_rate
       << ", expected a smaller one. " << what_is_left(settings.save, settings.resume, epoch > 1);
  return text.str();
}

}  // namespace

int servers_of(const std::string& sync) {
  const std::size_t colon = sync.find(':');
  const std::string family = sync.substr(0, colon);
  if (family != "ps" && family != "async-ps") return 0;
  if (colon == std::string::npos) return 1;
  int servers = 0;
  const char* const end = sync.data() + sync.size();
  const auto [last, error] = std::from_chars(sync.data() + colon + 1, end, servers);
  return error == std::errc() && last == end && servers > 0 ? servers : 0;
}

void train_linear(Transport& transport, const LinearSettings& settings, std::ostream& table) {
  Stopwatch watch;
  double reading_seconds = 0;
  std::unique_ptr<EpochLog> log;
  std::unique_ptr<PathLock> save_lock;
  launch::on_all_ranks(transport, [&] {
    const int servers = settings.servers();
    const int P = transport.size();
    if (servers >= P)
      throw Error("--sync " + settings.sync + " has " + std::to_string(P) + (P == 1 ? " rank" : " ranks") +
                  ", expected " + std::to_string(servers + 1) + " or more: " +
                  (servers == 1 ? "a server" : std::to_string(servers) + " servers") + " and those that compute");
    if (!settings.waits_for_all() && !(settings.save.empty() && settings.resume.empty()))
      throw Error(
          "--save and --resume need workers that end an epoch together, expected another --sync than async-ps: its "
          "weights hold a part of the next epoch by then");
    if (transport.rank() == 0) save_lock = check_save(settings.save, settings.resume);
    log = std::make_unique<EpochLog>(settings, transport, table);
  });
  const LinearData data = read_linear_data(transport, settings);
  watch.stop(reading_seconds);
  if (settings.has_server())
    train_by_servers(transport, settings, data, *log, reading_seconds);
  else
    train_by_allreduce(transport, settings, data, *log, reading_seconds);
  launch::on_all_ranks(transport, [&] { log->check(); });
}

double own_gradient(const LinearSettings& settings, const Batch& batch, std::span<float> own_weights, double factor,
                    std::vector<float>& gradient) {
  if (settings.hogwild)
    return compute_gradient_by_hogwild(batch, *settings.loss, own_weights, factor, settings.threads, gradient);
  return compute_gradient(batch, *settings.loss, own_weights, settings.threads, gradient);
}

void update(std::span<float> weights, const SparseVectorView<float>& gradient, double factor, double decay) {
  if (decay != 0)
    for (float& weight : weights) weight *= static_cast<float>(1 - decay);
  sparse::add_scaled(weights, static_cast<float>(-factor), gradient);
}

std::string loss_not_finite(std::size_t epoch, std::size_t step, const LinearSettings& settings) {
  return not_finite("the loss is", epoch, "epoch " + std::to_string(epoch) + ", step " + std::to_string(step),
                    settings);
}

void check_epoch(std::size_t epoch, std::span<const EpochPart> parts, std::span<const float> weights,
                 const LinearSettings& settings) {
  double loss = 0;
  double test_loss = 0;
  for (const EpochPart& part : parts) {
    loss += part.loss;
    test_loss += part.test_loss;
  }
  const auto expect = [&](bool finite, const char* what) {
    if (!finite) throw Error(not_finite(what, epoch, "the end of epoch " + std::to_string(epoch), settings));
  };
  expect(all_finite<float>(weights), "weights are");
  expect(std::isfinite(loss), "the loss is");
  expect(std::isfinite(test_loss), "the loss on --test is");
}

double sum_of_squares(std::span<const float> weights) {
  double sum = 0;
  for (const float weight : weights) sum += static_cast<double>(weight) * static_cast<double>(weight);
  return sum;
}

}  // namespace dsop::learn
