// What a run goes on from, mutated; then a step is made with it.
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <sstream>

#include <dsop/threads.hpp>

#include "base/fnv.hpp"
#include "fuzz_reader.hpp"
#include "learn/linear/checkpoint.hpp"
#include "learn/strategies/synchronized.hpp"
#include "learn/training/bytes.hpp"
#include "learn/training/checkpoint.hpp"

namespace dsop::learn {
namespace {

constexpr std::size_t pairs = 2, rows = 2, columns = 5;

/// Two layers on one rank, one under a policy that keeps a state.
class Model {
 public:
  explicit Model(Transport& transport)
      : optimizer_(make_optimizer<float>({&one_, &two_}, {.name = "adam"})),
        strategy_(make_synchronized(transport, {&one_, &two_}, {.policies = {"dense", "one=ok-topk:0.3"}})) {}

  void step() {
    Matrix<float> a(pairs, rows), b(pairs, columns);
    std::iota(a.elements().begin(), a.elements().end(), 1.0F);
    std::iota(b.elements().begin(), b.elements().end(), -3.0F);
    strategy_->begin(0.1);
    optimizer_->begin(0.1);
    for (Parameter<float>* const layer : {&two_, &one_}) strategy_->give(*layer, Factors<float>{a.view(), b.view()});
    strategy_->finish();
  }
  Saved saved() { return {{"model\n", "--clip 1\n--sync dsop\n"}, *optimizer_, *strategy_}; }

 private:
  Parameter<float> one_{"one", rows, columns, pairs};
  Parameter<float> two_{"two", rows, columns, pairs};
  std::unique_ptr<Optimizer<float>> optimizer_;
  std::unique_ptr<Strategy<float>> strategy_;
};

/// Of the body of the good checkpoint in `path`, which `read` reads in the file that it is given.
Reader reader_of(const char* name, const std::filesystem::path& path,
                 std::function<void(const std::filesystem::path&)> read) {
  const std::string good = bytes_of(path);
  const std::size_t kind_bytes = good.find('\n') + 1 + sizeof(std::uint32_t);  // then the body's bytes and checksum
  return {name,
          std::move(read),
          {good.substr(kind_bytes + 2 * sizeof(std::uint64_t))},
          [kind = good.substr(0, kind_bytes)](const std::string& body) {
            std::string file = kind;
            append(file, std::uint64_t{body.size()});
            append(file, checksum(body));
            return file + body;
          }};
}

template <class Body>
void with_model(Body body) {
  run_on_threads(1, [&](Transport& transport) {
    Model model(transport);
    body(transport, model);
  });
}

}  // namespace

Reader checkpoint_reader(const TemporaryFolder& folder) {
  const std::filesystem::path path = folder.path() / "checkpoint";
  with_model([&](Transport& transport, Model& model) {
    for (int step = 0; step < 2; ++step) model.step();
    write_checkpoint(transport, path.string(), {.step = 2, .epoch_loss = 1.5}, model.saved());
  });
  return reader_of("checkpoint", path, [](const std::filesystem::path& file) {
    with_model([&](Transport& transport, Model& model) {
      read_checkpoint(transport, file.string(), model.saved());
      model.step();
    });
  });
}

Reader linear_checkpoint_reader(const TemporaryFolder& folder) {
  const std::filesystem::path path = folder.path() / "linear-checkpoint";
  const LinearData data{.samples = 3, .features = 5};
  LinearSettings settings{.save = path.string(), .loss = &linear_losses()[0], .epochs = SIZE_MAX};
  const std::vector<float> weights(data.features, 0.5F);
  run_on_threads(1, [&](Transport& transport) { write_checkpoint(transport, settings, data, 2, weights); });
  return reader_of("linear checkpoint", path, [data, settings](const std::filesystem::path& file) {
    run_on_threads(1, [&](Transport& transport) {
      LinearSettings resuming = settings;
      resuming.resume = file.string();
      std::vector<float> read(data.features);
      read_checkpoint(transport, resuming, data, read);
    });
  });
}

Reader synchronizer_reader() {
  std::ostringstream state;
  with_model([&](Transport&, Model& model) {
    for (int step = 0; step < 2; ++step) model.step();
    model.saved().strategy.save(state);
  });
  const std::string good = state.str();
  return {"synchronizer",
          [](const std::filesystem::path& file) {
            with_model([&](Transport&, Model& model) {
              std::istringstream in(bytes_of(file));
              model.saved().strategy.load(in, 0);
              model.step();
            });
          },
          {good.substr(0, good.size() - sizeof(std::uint64_t))},  // without the hash at its end
          [](const std::string& bytes) {
            std::string file = bytes;
            append(file, fnv(fnv_start, std::as_bytes(std::span(bytes))));
            return file;
          }};
}

}  // namespace dsop::learn
