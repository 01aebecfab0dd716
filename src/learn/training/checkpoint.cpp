#include "learn/training/checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string_view>

#include <dsop/errors.hpp>

#include "launch/launch.hpp"
#include "learn/training/bytes.hpp"

namespace dsop::learn {
namespace {

constexpr std::string_view magic = "dsop-train checkpoint\n";
constexpr std::uint32_t version = 1;
constexpr std::size_t header_bytes = magic.size() + sizeof version + 2 * sizeof(std::uint64_t);

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(path + ": " + what);
}

/// Every rank's bytes, in the order of ranks, on rank 0; nothing on others.
std::vector<std::string> bytes_of_all(Transport& transport, const std::string& own) {
  if (transport.rank() != 0) {
    const std::uint64_t size = own.size();
    transport.send(std::span(&size, 1), 0);
    transport.send(std::span(own), 0);
    return {};
  }
  std::vector<std::string> all{own};
  for (int r = 1; r < transport.size(); ++r) {
    std::uint64_t size = 0;
    transport.recv(std::span(&size, 1), r);
    all.emplace_back(size, '\0');
    transport.recv(std::span(all.back()), r);
  }
  return all;
}

std::string body_of(const Progress& progress, const Saved& run, const std::vector<std::string>& strategies) {
  std::string body;
  append_array<char>(body, run.identity);
  append(body, progress.step);
  append(body, progress.epoch_loss);
  append(body, run.optimizer.steps());
  for (const Parameter<float>* const p : run.optimizer.parameters()) append_array<float>(body, p->value.elements());
  for (const Matrix<float>& memory : run.optimizer.state()) append_array<float>(body, memory.elements());
  for (const std::string& strategy : strategies) append_array<char>(body, strategy);
  return body;
}

void write_file(const std::string& path, const std::string& body) {
  std::string header(magic);
  append(header, version);
  append(header, std::uint64_t{body.size()});
  append(header, checksum(body));

  const std::string unfinished = path + ".unfinished";
  const auto check = [&](bool good) {
    if (!good) fail(unfinished, std::string("can't be written: ") + std::strerror(errno));
  };
  const auto close = [](std::FILE* file) { std::fclose(file); };
  std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(unfinished.c_str(), "wb"), close);
  check(file != nullptr);
  check(std::fwrite(header.data(), 1, header.size(), file.get()) == header.size());
  check(std::fwrite(body.data(), 1, body.size(), file.get()) == body.size());
  check(std::fflush(file.get()) == 0 && fsync(fileno(file.get())) == 0);
  file.reset();
  std::filesystem::rename(unfinished, path);
}

/// The file's body, which is whole.
std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, std::string("can't be opened: ") + std::strerror(errno));
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!std::string_view(bytes).starts_with(magic.substr(0, std::min(magic.size(), bytes.size()))) || bytes.empty())
    fail(path, "is no checkpoint of dsop-train");
  if (bytes.size() < header_bytes)
    fail(path, "is cut off: it ends after " + std::to_string(bytes.size()) + " bytes, within its header");
  std::string_view rest = std::string_view(bytes).substr(magic.size());
  if (const auto found = take<std::uint32_t>(rest); found != version)
    fail(path, "is a checkpoint of version " + std::to_string(found) + ", expected " + std::to_string(version));
  const auto expected = take<std::uint64_t>(rest);
  const auto sum = take<std::uint64_t>(rest);
  if (rest.size() < expected)
    fail(path, "is cut off: expected " + std::to_string(header_bytes + expected) + " bytes, found " +
                   std::to_string(bytes.size()));
  if (rest.size() > expected || checksum(rest) != sum) fail(path, "is damaged: its checksum is another");
  return bytes.substr(header_bytes);
}

/// Throws naming the first line that differs.
void compare_identity(const std::string& path, std::string_view found, const std::string& expected) {
  if (found == expected) return;
  std::istringstream theirs{std::string(found)}, ours{expected};
  std::string their_line, our_line;
  do {
    their_line.clear();
    our_line.clear();
    std::getline(theirs, their_line);
    std::getline(ours, our_line);
  } while (their_line == our_line && (theirs || ours));
  fail(path, "is of another run: \"" + their_line + "\", expected \"" + our_line + "\"");
}

void take_elements(std::string_view& body, const std::string& path, std::vector<float>& elements) {
  const std::string_view values = take_array(body, sizeof(float));
  if (values.size() != elements.size() * sizeof(float))
    fail(path, "has an array of " + std::to_string(values.size() / sizeof(float)) + " numbers, expected " +
                   std::to_string(elements.size()));
  std::memcpy(elements.data(), values.data(), values.size());
}

}  // namespace

void write_checkpoint(Transport& transport, const std::string& path, const Progress& progress, const Saved& run) {
  std::string own;
  launch::on_all_ranks(transport, [&] {
    std::ostringstream strategy;
    run.strategy.save(strategy);
    own = std::move(strategy).str();
  });
  const std::vector<std::string> strategies = bytes_of_all(transport, own);
  launch::on_all_ranks(transport, [&] {
    if (transport.rank() == 0) write_file(path, body_of(progress, run, strategies));
  });
}

Progress read_checkpoint(Transport& transport, const std::string& path, const Saved& run) {
  Progress progress;
  std::string strategy;
  launch::on_all_ranks(transport, [&] {
    const std::string bytes = read_file(path);
    std::string_view body = bytes;
    compare_identity(path, take_array(body, 1), run.identity);
    progress.step = take<std::uint64_t>(body);
    progress.epoch_loss = take<double>(body);
    run.optimizer.steps() = take<std::uint64_t>(body);
    for (Parameter<float>* const p : run.optimizer.parameters()) take_elements(body, path, p->value.elements());
    for (Matrix<float>& memory : run.optimizer.state()) take_elements(body, path, memory.elements());
    for (int r = 0; r <= transport.rank(); ++r) strategy = take_array(body, 1);
  });
  std::istringstream in(std::move(strategy));
  run.strategy.load(in);
  return progress;
}

}  // namespace dsop::learn
