#include "learn/linear/checkpoint.hpp"

#include <sstream>
#include <string_view>
#include <vector>

#include <dsop/collectives.hpp>

#include "base/hexadecimal.hpp"
#include "launch/launch.hpp"
#include "learn/training/checkpoint.hpp"
#include "learn/training/checkpoint_file.hpp"
#include "machine_text.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {
namespace {

RunIdentity identity_of(const LinearSettings& settings, const LinearData& data) {
  std::ostringstream text;
  text << "linear " << settings.loss->name << ", " << data.samples << " samples of " << data.features
       << " features, data " << hexadecimal(data.hash) << '\n'
       << "seed " << settings.seed << '\n'
       << "batch " << settings.batch << " on each of " << data.workers.count << " ranks that compute\n";
  return {text.str(), settings.options};
}

}  // namespace

void write_checkpoint(Transport& transport, const LinearSettings& settings, const LinearData& data, std::size_t epoch,
                      std::span<const float> weights) {
  if (settings.save.empty()) return;
  launch::on_all_ranks(transport, [&] {
    if (transport.rank() != 0) return;
    std::string body = begin_body(identity_of(settings, data));
    body.reserve(body.size() + weights.size_bytes() + 2 * sizeof(std::uint64_t));
    append(body, std::uint64_t{epoch});
    const std::string machine = settings.machine ? machine_text(*settings.machine) : "";
    append_array<char>(body, machine);
    append_array<float>(body, weights);
    write_checkpoint_file(settings.save, body);
  });
}

std::size_t read_checkpoint(Transport& transport, const LinearSettings& settings, const LinearData& data,
                            std::span<float> weights) {
  if (settings.resume.empty()) return 0;
  std::uint64_t epoch = 0;
  std::string other_options;
  launch::on_all_ranks(transport, [&] {
    if (transport.rank() != 0) return;
    CheckpointReader file(settings.resume, identity_of(settings, data));
    other_options = file.other_options();
    epoch = file.number<std::uint64_t>();
    file.bytes();  // machine_to_plan_for()
    file.elements(weights);
  });
  if (transport.rank() == 0) say_other_options(settings.resume, other_options);
  epoch = patterns::of_all_ranks(transport, epoch).front();
  if (!settings.has_server()) broadcast(transport, weights, 0);
  if (epoch >= settings.epochs && transport.rank() == 0)
    say_nothing_is_left(settings.resume, std::to_string(settings.epochs) + " epochs");
  return epoch;
}

std::optional<Machine> machine_to_plan_for(Transport& transport, const LinearSettings& settings,
                                           const LinearData& data) {
  if (settings.machine) return settings.machine;
  if (settings.sync != "auto" && settings.sync != "dense") return std::nullopt;
  std::string saved;
  launch::on_all_ranks(transport, [&] {
    if (transport.rank() != 0 || settings.resume.empty()) return;
    CheckpointReader file(settings.resume, identity_of(settings, data));
    file.number<std::uint64_t>();
    saved = file.bytes();
  });
  const std::vector<std::string_view> for_all(static_cast<std::size_t>(transport.size()), saved);
  const std::string text = bytes_of_first(transport, for_all);
  return text.empty() ? machine(transport) : machine_of_text(text, "checkpoint " + settings.resume);
}

}  // namespace dsop::learn
