// A line on a terminal that says how far a long run is.
#pragma once

#include <unistd.h>

#include <iostream>
#include <string>

namespace dsop::launch {

/// What other words on stderr begin with where a ProgressLine may stand.
inline const char* over_progress() {
  return isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "";
}

/// Rewrites one line on stderr; silent when stderr is no terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool speaks) : speaks_(speaks && isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }

  void show(const std::string& text) {
    if (speaks_) std::cerr << over_progress() << text << std::flush;
  }
  void clear() { show(""); }

 private:
  bool speaks_;
};

}  // namespace dsop::launch
