#pragma once

#include <CLI/CLI.hpp>

namespace dsop::learn {

/// The command `hash-trigrams`: labelled texts as libsvm samples.
void add_hash_trigrams(CLI::App& app);

}  // namespace dsop::learn
