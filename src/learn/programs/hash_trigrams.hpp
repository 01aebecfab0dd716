#pragma once

#include <CLI/CLI.hpp>

namespace dsop::learn {

/// The command `hash-trigrams`, labelled texts as libsvm samples, which sets `status` to the program's when it has run.
void add_hash_trigrams(CLI::App& app, int& status);

}  // namespace dsop::learn
