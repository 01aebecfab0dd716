// The benchmark's clock, in one place: a simulated build has another.
#pragma once

namespace dsop::bench {

/// Seconds since some moment that only this host knows.
double now_seconds();

/// Returns when now_seconds() has reached `seconds`.
void wait_until(double seconds);

}  // namespace dsop::bench
