#include "learn/linear/checkpoint.hpp"

#include <sstream>

#include "launch/launch.hpp"
#include "learn/training/checkpoint_file.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {
namespace {

/// What the run that goes on must have in common with the run that is saved.
std::string identity_of(const LinearSettings& settings, const LinearData& data) {
  std::ostringstream text;
  text << "linear " << settings.loss->name << ", " << data.samples << " samples of " << data.features << " features\n"
       << "seed " << settings.seed << '\n'
       << "batch " << settings.batch << " on each of " << data.workers.count << " ranks that compute\n";
  return text.str();
}

}  // namespace

void write_checkpoint(Transport& transport, const LinearSettings& settings, const LinearData& data, std::size_t epoch,
                      std::span<const float> weights) {
  if (settings.save.empty()) return;
  launch::on_all_ranks(transport, [&] {
    if (transport.rank() != 0) return;
    std::string body;
    body.reserve(weights.size_bytes() + 1024);
    append_array<char>(body, identity_of(settings, data));
    append(body, std::uint64_t{epoch});
    append_array<float>(body, weights);
    write_checkpoint_file(settings.save, body);
  });
}

std::size_t read_checkpoint(Transport& transport, const LinearSettings& settings, const LinearData& data,
                            std::span<float> weights) {
  if (settings.resume.empty()) return 0;
  std::uint64_t epoch = 0;
  launch::on_all_ranks(transport, [&] {
    if (weights.empty()) return;  // of a server's workers
    CheckpointReader file(settings.resume, identity_of(settings, data));
    epoch = file.number<std::uint64_t>();
    file.elements(weights);
  });
  epoch = patterns::largest_of_all_ranks(transport, epoch);
  if (epoch >= settings.epochs && transport.rank() == 0)
    say_nothing_is_left(settings.resume, std::to_string(settings.epochs) + " epochs");
  return epoch;
}

}  // namespace dsop::learn
