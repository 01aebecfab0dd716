// What never changes on a communicator. Its ranks exchange it once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <dsop/product_method.hpp>
#include <dsop/transport.hpp>

namespace dsop {

struct Capabilities {
  bool known = false;
  Group group = {};
  InstructionSet least_instructions = InstructionSet::baseline;
  bool same_blas = false;                 ///< one processor family's kernels of OpenBLAS on all ranks
  bool all_allow_progress_thread = true;  ///< so started calls run beside the program
  bool all_trace = false;                 ///< DSOP_TRACE is set on all ranks
};

/// Fills `ranks`. All ranks of the transport must call it. Whether this one `traces` is its own affair.
void exchange_capabilities(Transport& transport, Capabilities& ranks, bool traces);

}  // namespace dsop
