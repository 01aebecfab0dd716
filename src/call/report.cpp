#include "call/report.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string_view>
#include <vector>

#include "base/aligned_table.hpp"
#include "base/shown.hpp"
#include "call/call_state.hpp"

namespace dsop {
namespace {

using Line = std::array<std::string, 9>;

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", seconds * 1e3);
  return text;
}

Line line_of(const LoggedCalls& row) {
  const Measured measured = row.measured();
  const bool is_known = measured.predicted_seconds > 0;
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.2f", measured.median_seconds / measured.predicted_seconds);
  std::string of = row.parameter;
  if (of.empty() && row.object > 0) of = "made by call " + std::to_string(row.object);
  return {std::move(of),
          row.operation,
          row.algorithm,
          std::to_string(row.calls),
          std::to_string(static_cast<std::uint64_t>(row.bytes / static_cast<double>(row.calls))),
          milliseconds(measured.median_seconds),
          is_known ? milliseconds(measured.predicted_seconds) : "",
          is_known ? ratio : "",
          milliseconds(measured.waited_seconds)};
}

std::string lateness(const Arrivals& arrivals) {
  std::multimap<double, std::size_t, std::greater<>> ranks;
  for (std::size_t r = 0; r < arrivals.mean_seconds.size(); ++r) ranks.emplace(arrivals.mean_seconds[r], r);
  std::string text =
      "of " + std::to_string(arrivals.calls) + " calls, the latest rank first; on average after the first to come:\n";
  for (const auto& [seconds, r] : ranks)
    text.append("  rank ")
        .append(std::to_string(r))
        .append(" came ")
        .append(milliseconds(seconds))
        .append(" ms late, and last to ")
        .append(std::to_string(arrivals.came_last[r]))
        .append("\n");
  return text;
}

}  // namespace

std::string report_of(const CallLog& log, const Transport& transport, const std::string& failure) {
  std::vector<Line> lines{{"of", "operation", "algorithm", "calls", "bytes sent", "measured ms", "predicted ms",
                           "x predicted", "waited ms"}};
  for (const LoggedCalls& row : log.rows())
    if (row.seconds > 0) lines.push_back(line_of(row));
  std::string text = "dsop: " + std::to_string(transport.size()) + " ranks over " + transport.name() +
                     ", as rank 0 saw them\n"
                     "measured: the median of the last 16 calls, from the agreement on\n"
                     "waited: in the agreement, for ranks that come later; the mean\n";
  if (!failure.empty()) text.append("failed: ").append(printable_lines(failure)).append("\n");
  constexpr std::size_t texts = 3;
  text += aligned_table(lines, texts);
  if (log.arrivals().calls > 0) text += lateness(log.arrivals());
  return text;
}

void report_at_end(Transport& transport, const CallLog& log) noexcept {
  const char* const where = std::getenv("DSOP_REPORT");
  if (where == nullptr || *where == 0 || std::string_view(where) == "0" || transport.rank() != 0) return;
  try {
    const CallState& calls = transport.calls();
    const std::string text = report_of(log, transport, calls.failure);
    if (std::string_view(where) == "1") {
      std::cerr << text << std::flush;
      return;
    }
    std::ofstream file(where, std::ios::app);
    if (!(file << text << std::flush))
      std::cerr << "dsop: can't write DSOP_REPORT's file " + shown(where) + '\n' << text;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dsop: no report: %s\n", error.what());
  }
}

}  // namespace dsop
