// Up to which inner dimension our kernel multiplies, and not BLAS.
#pragma once

#include <cstddef>

namespace dsop {

// OpenBLAS's time over ours: medians of one interleaved run for each cell, one core of a Sapphire Rapids with AVX-512
// that others used too (so thread time), OpenBLAS 0.3.21. The switch is the last K where ours keeps up for all these
// shapes; accumulating, and AVX2 against OpenBLAS's Haswell core, cross over near the same K.
//
//                    K = 1     4     8    16    32    64    96   128   192   256   512
//   f32  4096 x 4096  7.52  8.44  7.72  4.99  3.12  2.22  1.79  1.65  1.42  1.30  1.09
//        1000 x 1000  1.38  1.71  1.60  1.55  1.31  1.16  1.05  1.09  1.02  1.01  0.97
//        8000 x  128  1.53  1.60  1.48  1.48  1.27  1.02  1.05  1.02  0.99  0.85  0.89
//         128 x 8000  1.75  1.89  1.89  1.69  1.33  1.22  1.14  1.13  1.13  1.11  1.26
//   f64  4096 x 4096  6.35  7.54  6.22  4.34  2.71  2.35  1.69  1.55  1.40  1.14  0.89
//        1000 x 1000  1.48  2.17  2.27  1.78  1.44  1.27  1.20  1.17  1.19  1.06  0.90
//        8000 x  128  1.71  1.65  1.58  1.57  1.36  1.26  1.23  1.15  1.35  1.29  1.05
//         128 x 8000  1.86  1.78  1.64  1.26  1.01  1.07  1.00  0.97  0.93  0.89  0.71
template <class T>
inline constexpr std::size_t largest_inner_dimension = 0;
template <>
inline constexpr std::size_t largest_inner_dimension<float> = 192;
template <>
inline constexpr std::size_t largest_inner_dimension<double> = 128;

}  // namespace dsop
