// What a call computes, as all ranks have agreed on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <dsop/types.hpp>

namespace dsop {

/// How the factors, the parts of G, or the values of a sparse vector, that travel are written: as they are, or as bf16,
/// the upper half of a float.
enum class Wire : unsigned char { full, bf16 };

constexpr std::string_view name(Wire wire) {
  return wire == Wire::full ? "full" : "bf16";
}

/// Whether elements of `type` may travel as `wire` says.
constexpr bool can_travel_as(Wire wire, DataType type) {
  return wire == Wire::full || type == DataType::f32;
}

/// How many elements of one rank's factors travel, with an index each, or `dense`: all, without.
struct Sparsity {
  static constexpr std::size_t dense = SIZE_MAX;
  std::size_t a = dense;
  std::size_t b = dense;

  bool operator==(const Sparsity&) const = default;
};

/// The ranks that make a call, as plans see them. How many there are, each problem says.
struct Group {
  bool native = false;          ///< the transport has the MPI library's own collectives
  std::vector<int> nodes = {};  ///< the lowest rank of each rank's node; empty: no two ranks share one

  bool operator==(const Group&) const = default;
};

/// G (rows x columns, the papers' n x m) = sum over ranks r of A_r^T B_r, where rank r holds pairs[r] pairs.
struct Problem {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::size_t> pairs = {};  ///< k of each rank
  DataType type = DataType::f32;
  bool staged_result = false;  ///< some rank adds to its gradient or has gaps in it: G is made aside, then added
  Group group = {};
  bool allow_native = false;            ///< `auto` may take MPI's own allreduce, where that was measured
  bool native_sums_vary = false;        ///< MPI's own sums may have other bits in each call: `auto` never takes them
  Wire wire = Wire::full;               ///< of the parts of G that travel
  Wire factor_wire = Wire::full;        ///< of the factors that travel
  bool sharded = false;                 ///< each rank keeps only its own rows of G
  bool started = false;                 ///< the program computes meanwhile: of the call's arithmetic nothing is hidden
  bool given_sparse = false;            ///< some rank's factors are: they do not ride in the agreement
  std::vector<Sparsity> sparsity = {};  ///< of what each rank sends; empty where all send dense factors
  bool sparse_product = false;          ///< only what is not zero is multiplied; make_plan() decides by cost
  bool rows_only = false;               ///< the result are the rows of G that are not all zero; of `allgather` alone

  int ranks() const { return static_cast<int>(pairs.size()); }
  std::size_t total_pairs() const;
  std::size_t largest_pairs() const;

  bool operator==(const Problem&) const = default;
};

/// Group::nodes from every rank's Transport::node().
std::vector<int> shared_nodes(std::vector<int> node_of_each);

/// Each of `ranks` has a vector of `elements`. Either all ranks or `root` get the sum, or all get the vector of `root`.
struct DenseProblem {
  std::size_t elements = 0;
  int ranks = 1;
  DataType type = DataType::f32;
  Group group = {};
  Wire wire = Wire::full;     ///< of what travels
  int root = 0;               ///< of a broadcast or a reduce
  bool allow_native = false;  ///< as in Problem
};

/// Of an element, on its way.
inline std::size_t bytes_on_wire(Wire wire, DataType type) {
  return wire == Wire::bf16 ? 2 : bytes_of(type);
}
template <class AnyProblem>
std::size_t bytes_on_wire(const AnyProblem& problem) {
  return bytes_on_wire(problem.wire, problem.type);
}

/// Rank r gives block r, and every rank ends with all: bytes bounds_bytes[r] .. bounds_bytes[r + 1] of one array.
/// Blocks differ in size and may be empty.
struct AllgatherProblem {
  std::vector<std::size_t> bounds_bytes;  ///< ranks + 1 of them, from 0
  Group group = {};  ///< of several groups of ranks that gather at the same time, the nodes of one after the other

  int ranks() const { return static_cast<int>(bounds_bytes.size()) - 1; }
  std::size_t total_bytes() const { return bounds_bytes.back(); }
  /// Of blocks first .. first + blocks - 1.
  std::size_t bytes(int first, int blocks = 1) const {
    return bounds_bytes[static_cast<std::size_t>(first + blocks)] - bounds_bytes[static_cast<std::size_t>(first)];
  }
  std::size_t largest_bytes() const;
};

}  // namespace dsop
