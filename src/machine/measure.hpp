// What is measured of the machine that the ranks run on.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

namespace dsop {

/// How many steps, by the length of their messages: step_bytes.
using StepCounts = std::array<int, step_bytes.size()>;

/// How much is measured.
struct Effort {
  double seconds;             ///< for messages of all levels: no longer ones are begun that are predicted to end later.
                              ///< Half more for what they hide, a quarter more for MPI's own allreduce
  double arithmetic_seconds;  ///< of a sample of a kernel: far more than the part of a millisecond that ranks which
                              ///< share a core lose in taking turns
  double overlap_seconds;     ///< of messages while products are made, in a sample; 0: not measured
  int overlap_times;          ///< that share is measured; the median counts
  int samples;                ///< of messages longer than 16 KiB; their median counts
  int short_samples;          ///< of shorter ones; of two the lower counts, since one may be disturbed
  int product_samples;        ///< of products whose C a cache holds; others may disturb one. Of two the shorter counts
  int addition_samples;       ///< of a pass over more memory than that, which takes longer
  int large_write_samples;    ///< as well; 0: not measured
  StepCounts steps;           ///< timed in a sample; with changing partners, out of step, in more samples
  StepCounts inner_steps;     ///< the same inside nodes that several ranks share, of several nodes: there long messages
                              ///< take less time
  StepCounts native_allreduces;
  int arithmetic_times;         ///< before, amid and after messages; the median counts. What else runs on a shared core
                                ///< comes and goes in seconds, and halves its speed
  bool out_of_step;             ///< ranks come to a sample at different times, and agree before it, as in calls
  std::size_t vector_elements;  ///< of the two vectors that messages come from and go to, and that products write: a
                                ///< quarter of one, and both as a large G
  std::size_t added_elements;   ///< of each vector, that an addition reads; the next one reads others, if there are
  std::size_t product_side;     ///< rows and columns of the products
};

/// At most half a second where 200 Mbit/s join the hosts, 0.15 s at 1 Gbit/s, where ranks have cores of their own.
constexpr Effort probe_of_nodes{.seconds = 0.27,
                                .arithmetic_seconds = 5e-3,
                                .overlap_seconds = 2.5e-3,
                                .overlap_times = 1,
                                .samples = 1,
                                .short_samples = 2,
                                .product_samples = 2,
                                .addition_samples = 2,
                                .large_write_samples = 1,
                                .steps = {6, 3, 4, 2, 0, 0},
                                .inner_steps = {6, 3, 4, 4, 4, 0},
                                .native_allreduces = {2, 1, 1, 0, 0, 0},
                                .arithmetic_times = 1,
                                .out_of_step = false,
                                .vector_elements = 4'200'000,  // both are as much as a large G
                                .added_elements = std::size_t{2} << 20,
                                .product_side = 384};

/// At most 10 ms, where ranks have cores of their own.
constexpr Effort probe_of_one_node{.seconds = 3e-3,
                                   .arithmetic_seconds = 0.4e-3,
                                   .overlap_seconds = 0,
                                   .overlap_times = 1,
                                   .samples = 1,
                                   .short_samples = 2,
                                   .product_samples = 3,
                                   .addition_samples = 3,
                                   .large_write_samples = 0,
                                   .steps = {8, 4, 6, 3, 1, 0},
                                   .inner_steps = {},  // there is one node
                                   .native_allreduces = {4, 2, 2, 1, 0, 0},
                                   .arithmetic_times = 1,
                                   .out_of_step = false,
                                   .vector_elements = std::size_t{1} << 20,
                                   .added_elements = std::size_t{1} << 20,
                                   .product_side = 256};

/// Many: in the first, ranks wait for the last.
constexpr StepCounts calibration_steps{24, 24, 16, 12, 12, 8};

/// Some seconds, for a file that serves for long.
constexpr Effort effort_of_calibration{.seconds = 60,
                                       .arithmetic_seconds = 0.1,
                                       .overlap_seconds = 12e-3,
                                       .overlap_times = 5,
                                       .samples = 5,
                                       .short_samples = 5,
                                       .product_samples = 5,
                                       .addition_samples = 5,
                                       .large_write_samples = 5,
                                       .steps = calibration_steps,
                                       .inner_steps = calibration_steps,
                                       .native_allreduces = {24, 12, 7, 4, 2, 1},
                                       .arithmetic_times = 3,
                                       .out_of_step = true,
                                       .vector_elements = std::size_t{16} << 20,  // far more than a cache holds
                                       .added_elements = std::size_t{16} << 20,
                                       .product_side = 1024};

/// Measures with all ranks busy at once, since that is how a call finds the machine; the slowest rank counts. `nodes`
/// as in Problem: where ranks share nodes, messages inside them are a level of their own. Steps of a sample follow each
/// other at once and the first is dropped, since a shaper lets a burst through too fast; but out of step, those with
/// changing partners are as a call makes them. A rank has O(log P) partners. Where long messages would take too long,
/// the line through the two longest that were sent goes on. hidden_share is measured where overlap_seconds is not 0,
/// over the outermost level; else it keeps its default, as indexed_addition_factor does. All ranks; throws AgreedError
/// on all of them if one has no memory or its clock steps back.
Machine measure_machine(Transport& transport, const std::vector<int>& nodes, const Effort& effort);

}  // namespace dsop
