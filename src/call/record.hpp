// What a rank says of itself at the start of each call: 32 bytes, whatever the operation.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <dsop/problem.hpp>

namespace dsop {

/// Numbers have 48 bits; the highest stands for Sparsity::dense. What changes here changes record_format
/// (base/version.hpp).
struct Record {
  static constexpr std::uint64_t dense = (std::uint64_t{1} << 48) - 1;

  std::uint64_t digest = 0;  ///< of what all ranks must say alike

  std::uint64_t pairs : 48 = 0;    ///< that it gives, or, where a plan is made beforehand, promises
  std::uint64_t threads : 16 = 1;  ///< of OpenMP, now: the bits of a product that several ranks make depend on it

  std::uint64_t nonzeros_a : 48 = dense;     ///< of what it sends of its a, or of its vector
  std::uint64_t may_expand : 1 = 0;          ///< it gives something sparse that some algorithms need in full
  std::uint64_t result_aside : 1 = 0;        ///< G has gaps or is added to: an algorithm that sends G makes it aside
  std::uint64_t large_stride : 1 = 0;        ///< above OpenBLAS's 32 bits
  std::uint64_t on_progress_thread : 1 = 0;  ///< which packs factors in memory of its own
  std::uint64_t lacks_plan : 1 = 0;          ///< where plans are found by no rank's numbers
  // No plan depends on this, nor on what comes after nonzeros_b: they are this call's alone.
  std::uint64_t last_wait_log : 11 = 0;  ///< how long it waited for the others in the call before; 0: there was none

  std::uint64_t nonzeros_b : 48 = dense;
  std::uint64_t failed : 1 = 0;          ///< it has found an error of its own
  std::uint64_t asks_for_facts : 1 = 0;  ///< it does not know what never changes on the other ranks
  std::uint64_t piggybacks : 1 = 0;      ///< its factors stand behind the record
  std::uint64_t checks_bits : 1 = 0;     ///< Options::check_bits
  std::uint64_t unused : 12 = 0;

  void take_sparsity(const Sparsity& sparsity) {
    nonzeros_a = number(sparsity.a) & dense;
    nonzeros_b = number(sparsity.b) & dense;
  }
  Sparsity sparsity() const { return {count(nonzeros_a), count(nonzeros_b)}; }

  /// Within 3.2 %, from a nanosecond on: a float's exponent above that of a nanosecond, and 5 bits of its fraction.
  void take_last_wait(double seconds) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::max(seconds * 1e9, 1.0)));
    last_wait_log = ((bits >> 18) - (127U << 5)) & 0x7ff;
  }
  double last_wait_seconds() const {
    const auto log = static_cast<std::uint32_t>(last_wait_log);
    return 1e-9 * std::bit_cast<float>((log + (127U << 5)) << 18);
  }

  /// What a plan depends on.
  std::array<std::uint64_t, 3> numbers() const {
    Record record = *this;
    record.last_wait_log = 0;
    const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(record);
    return {words[1], words[2], std::uint64_t{nonzeros_b}};
  }

 private:
  static std::uint64_t number(std::size_t count) { return count == Sparsity::dense ? dense : count; }
  static std::size_t count(std::uint64_t number) { return number == dense ? Sparsity::dense : number; }
};
static_assert(sizeof(Record) == 32);

}  // namespace dsop
