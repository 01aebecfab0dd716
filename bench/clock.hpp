// The benchmark's clock, in one place: a simulated build has another.
#pragma once

namespace dsop::bench {

/// Short calls are timed several in a row, so that a sample lasts so long.
inline constexpr double shortest_sample_seconds = 1e-3;

/// Seconds since some moment that only this host knows.
double now_seconds();

/// Returns when now_seconds() has reached `seconds`.
void wait_until(double seconds);

}  // namespace dsop::bench
