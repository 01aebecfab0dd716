// From which size on a product's result is large.
#pragma once

#include <cstddef>

namespace dsop {

// From here on the caches of a core hold so little of C that streaming it past them is faster, and still is when C is
// read right afterwards (at K = 1; K = 8 gains from 16 MB on). At 4 MB streaming takes five times as long. Blocks of a
// large C gain too: 4000 x 4000 of one pair in 2, 4, 8 segments took 3.1, 3.4, 3.8 ms, streamed 2.3, 2.3, 2.4. All that
// with AVX-512; with AVX2, on an EPYC, streaming C of 67 MB took 1 to 1.4 times as long (most at K = 8 to 32).
inline constexpr std::size_t streaming_bytes = 32 * 1024 * 1024;

}  // namespace dsop
