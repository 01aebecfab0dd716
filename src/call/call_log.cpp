#include "call/call_log.hpp"

#include <algorithm>
#include <utility>

namespace dsop {

Measured LoggedCalls::measured() const {
  if (calls == 0) return {};
  std::array<float, 16> sorted = last_seconds;
  const auto count = std::min<std::uint64_t>(calls, sorted.size());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  const auto all = static_cast<double>(calls);
  return {calls, last_seconds[(calls - 1) % last_seconds.size()], *middle, waited_seconds / all,
          predicted_seconds / all};
}

CallLog::CallLog(int ranks) {
  const auto P = static_cast<std::size_t>(ranks);
  arrivals_.last_seconds.resize(P);
  arrivals_.mean_seconds.resize(P);
  arrivals_.came_last.resize(P);
}

std::size_t CallLog::row_of(LoggedCalls calls) {
  const auto place_of = [&] {
    return static_cast<std::size_t>(
        std::ranges::find_if(rows_, [&](const LoggedCalls& row) { return row.is_of(calls); }) - rows_.begin());
  };
  std::size_t place = place_of();
  if (place + 1 >= most_rows) {
    calls = {.operation = "other calls"};
    place = place_of();
  }
  if (place == rows_.size()) rows_.push_back(std::move(calls));
  return place;
}

void CallLog::take(std::size_t row, double seconds, double waited_seconds, const PredictedCall& predicted) {
  LoggedCalls& to = rows_[row];
  to.last_seconds[to.calls++ % to.last_seconds.size()] = static_cast<float>(seconds);
  to.seconds += seconds;
  to.waited_seconds += waited_seconds;
  to.predicted_seconds += predicted.seconds;
  to.bytes += static_cast<double>(predicted.bytes);
}

// Who came last has waited least, if it is one alone. Ranks start to wait when they come, and end together.
void CallLog::take_waits(std::span<const Record> records) {
  if (records.size() < 2 || records[0].last_wait_log == 0) return;
  double least = records[0].last_wait_seconds();
  double longest = 0;
  for (std::size_t r = 0; r < records.size(); ++r) {
    arrivals_.last_seconds[r] = records[r].last_wait_seconds();
    longest = std::max(longest, arrivals_.last_seconds[r]);
    least = std::min(least, arrivals_.last_seconds[r]);
  }
  ++arrivals_.calls;
  if (const auto last = std::ranges::find(arrivals_.last_seconds, least);
      std::ranges::count(arrivals_.last_seconds, least) == 1)
    ++arrivals_.came_last[static_cast<std::size_t>(last - arrivals_.last_seconds.begin())];
  for (std::size_t r = 0; r < records.size(); ++r) {
    double& late = arrivals_.last_seconds[r];
    late = longest - late;
    arrivals_.mean_seconds[r] += (late - arrivals_.mean_seconds[r]) / static_cast<double>(arrivals_.calls);
  }
}

}  // namespace dsop
