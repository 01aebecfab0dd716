#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/output_file.hpp"
#include "launch/launch.hpp"
#include "learn/data/input_file.hpp"
#include "learn/data/labelled_text.hpp"
#include "learn/data/libsvm.hpp"
#include "learn/data/same_file.hpp"
#include "learn/data/trigrams.hpp"
#include "learn/programs/commands.hpp"

namespace dsop::learn {
namespace {

struct Line {
  std::string in;
  std::string out;
  std::string held_out;
  int bits = 20;
  std::size_t every = 5;
};

/// Null where `path` is empty.
std::unique_ptr<OutputFile> open(const std::string& path) {
  return path.empty() ? nullptr : std::make_unique<OutputFile>(path);
}

void run(const Line& line) {
  const std::vector<LabelledText> texts = read_labelled_text(line.in);
  std::set<std::string> labels;
  for (const LabelledText& text : texts) labels.insert(text.label);
  if (labels.size() != 2)
    fail(line.in, "has " + std::to_string(labels.size()) + " different labels, expected 2; the first is " +
                      in_quotes(*labels.begin()) + ", the last " + in_quotes(*labels.rbegin()));

  const NamedFile in{"IN.tsv", line.in};
  refuse_same_file({"--out", line.out}, {in, {"--held-out", line.held_out}});
  refuse_same_file({"--held-out", line.held_out}, {in});
  if (!line.held_out.empty() && texts.size() < line.every)
    fail(line.in, "has " + std::to_string(texts.size()) + " texts, expected " + std::to_string(line.every) +
                      " or more: --every " + std::to_string(line.every) + " would hold none out");
  const std::unique_ptr<OutputFile> out = open(line.out);
  const std::unique_ptr<OutputFile> held_out = open(line.held_out);
  std::size_t features = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::vector<Feature> trigrams = hashed_trigrams(texts[i].text, line.bits);
    features += trigrams.size();
    const bool is_held_out = held_out && i % line.every == line.every - 1;
    const std::unique_ptr<OutputFile>& file = is_held_out ? held_out : out;
    write_libsvm(file ? file->stream() : std::cout, texts[i].label == *labels.begin() ? -1 : 1, trigrams);
  }
  if (out) out->finish();
  if (!out && !std::cout.flush()) throw Error("stdout can't be written");
  if (held_out) held_out->finish();
  std::cerr << texts.size() << " texts, " << features / texts.size() << " features each on average; "
            << in_quotes(*labels.begin()) << " is -1, " << in_quotes(*labels.rbegin()) << " is 1\n";
}

}  // namespace

void add_hash_trigrams(CLI::App& app, int& status) {
  const auto line = std::make_shared<Line>();
  CLI::App* const command = app.add_subcommand(
      "hash-trigrams", "Labelled texts (two labels; label, tab, text a line) as hashed character trigrams, for libsvm");
  command->add_option("IN.tsv", line->in, "The texts: UTF-8 or Latin-1, gzip'd or plain")->required();
  command->add_option("--bits", line->bits, "2^bits features")->check(CLI::Range(1, 32))->capture_default_str();
  CLI::Option* const out = command->add_option("--out", line->out, "File to write instead of stdout");
  CLI::Option* const held_out =
      command->add_option("--held-out", line->held_out, "Write some of the samples to this file instead, for a test")
          ->needs(out);
  command->add_option("--every", line->every, "One of so many is held out")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str()
      ->needs(held_out);
  command->callback([line, &status] { status = launch::run_alone([&] { run(*line); }); });
}

}  // namespace dsop::learn
