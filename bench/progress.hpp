// How far a long run over several points is.
#pragma once

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "launch/progress_line.hpp"
#include "measure.hpp"

namespace dsop::bench {

using launch::ProgressLine;

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
