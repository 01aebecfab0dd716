// The exchange that opens each call: what every rank tells every other, and what must be the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>
#include <dsop/product_method.hpp>
#include <dsop/transport.hpp>

#include "base/operation.hpp"

namespace dsop {

/// What all ranks must say alike.
struct CommonTerms {
  std::uint64_t call = 0;       ///< how many calls this communicator has seen
  std::uint64_t object = 0;     ///< 0: dsop(); i: the OuterProduct or Synchronizer that call number i made
  std::uint64_t parameter = 0;  ///< a hash of CallState::parameter
  Operation operation = Operation::outer_product;
  DataType type = DataType::f32;
  bool accumulate = false;
  Wire wire = Wire::full;
  std::int32_t root = 0;
  std::uint64_t rows = 0;  ///< of an allreduce or a collective: the elements; of a new synchronizer: its bucket_bytes
  std::uint64_t columns = 0;  ///< of a top-k allreduce: k
  std::uint64_t first = 0;    ///< of a sparse allreduce: the region's first element
  std::uint64_t regions = 0;  ///< and into how many the vector is cut
  std::uint64_t step = 0;     ///< of a top-k allreduce's or a loaded state
  std::uint64_t state = 0;    ///< a hash of what else the ranks' states must have in common
  double scale = 1;
  std::array<double, 8 + 2 * step_bytes.size()> machine{};
  std::uint64_t winners = 0;  ///< a hash of the machine's
  std::array<char, 48> algorithm{};

  bool operator==(const CommonTerms&) const = default;
};

/// Puts the machine into the terms.
void describe_machine(const Machine& machine, CommonTerms& terms);

/// What each rank says of itself.
struct OwnTerms {
  std::uint64_t pairs = 0;
  Sparsity sparsity = {};     ///< of what it sends
  bool given_sparse = false;  ///< one of its factors or both, whatever it sends
  std::int32_t threads = 1;
  std::int32_t node = 0;
  InstructionSet instructions = InstructionSet::baseline;
  bool staged_result = false;
  bool strides_fit_blas = true;  ///< OpenBLAS takes 32-bit strides
  bool allows_progress_thread = true;
  bool on_progress_thread = false;  ///< whose memory for packing is another than that of the program's thread
  bool checks_bits = false;         ///< Options::check_bits
  bool failed = false;              ///< it has found an error in its own arguments
  std::array<char, 24> blas_core{};

  bool operator==(const OwnTerms&) const = default;
};

struct Header {
  CommonTerms common;
  OwnTerms own;

  bool operator==(const Header&) const = default;
};

/// Gives every rank the headers of all, in `all` (one a rank). `own_error` is empty or what is wrong with this rank's
/// arguments. Throws ArgumentError with the same text on every rank if some rank has an error or the ranks disagree.
void exchange_headers(Transport& transport, const Header& own, const std::string& own_error, std::vector<Header>& all);

/// Throws ArgumentError on every rank if `own_error` is not empty on some rank.
void agree_on_errors(Transport& transport, const std::string& own_error);

}  // namespace dsop
