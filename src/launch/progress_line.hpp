// A line on a terminal that says how far a long run is.
#pragma once

#include <unistd.h>

#include <iostream>
#include <string>

namespace dsop::launch {

/// Rewrites one line on stderr; silent when stderr is no terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool speaks) : speaks_(speaks && isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }

  void show(const std::string& text) {
    if (speaks_) std::cerr << "\r\033[K" << text << std::flush;
  }
  void clear() { show(""); }

 private:
  bool speaks_;
};

}  // namespace dsop::launch
