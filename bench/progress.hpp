// A line on a terminal that says how far a long run is.
#pragma once

#include <unistd.h>

#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "measure.hpp"

namespace dsop::bench {

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

/// For MeasureOptions::progress at points[p]: "[2/6] 1000 x 1000, 32 pairs: allgather, first call". Both must outlive
/// it.
inline std::function<void(const std::string&)> progress_of(ProgressLine& line, const std::vector<Point>& points,
                                                           std::size_t p) {
  return [&line, &points, p](const std::string& what) {
    std::ostringstream text;
    text << '[' << p + 1 << '/' << points.size() << "] " << points[p].rows << " x " << points[p].columns << ", "
         << points[p].pairs << " pairs: " << what;
    line.show(text.str());
  };
}

}  // namespace dsop::bench
