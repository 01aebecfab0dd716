// The numbers of a machine by the names that files, errors and the C functions call them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <dsop/machine.hpp>

namespace dsop {

enum class Allowed : unsigned char { positive, positive_or_zero, share, piece };

constexpr double least_piece_bytes = 1024;

constexpr const char* expected(Allowed allowed) {
  if (allowed == Allowed::share) return "a number from 0 to 1";
  if (allowed == Allowed::piece) return "a finite number of at least 1024, or 0";
  return allowed == Allowed::positive ? "a finite number above 0" : "a finite number above 0, or 0";
}

/// A field of a Machine or of a Level.
template <class Owner>
struct NumberField {
  std::string_view name;
  double Owner::*value;
  Allowed allowed = Allowed::positive;

  bool makes_sense(double number) const {
    if (allowed == Allowed::share) return number >= 0 && number <= 1;
    if (allowed == Allowed::piece) return number == 0 || (number >= least_piece_bytes && std::isfinite(number));
    return std::isfinite(number) && (number > 0 || (number == 0 && allowed == Allowed::positive_or_zero));
  }
};

template <class Owner>
struct StepField {
  std::string_view name;
  StepSeconds Owner::*seconds;

  /// Steps that were not measured are all zero.
  static bool makes_sense(const StepSeconds& seconds) {
    const auto is_positive = [](double number) { return number > 0 && std::isfinite(number); };
    return std::all_of(seconds.begin(), seconds.end(), is_positive) || seconds == StepSeconds{};
  }
};

template <class Owner>
inline constexpr std::array<StepField<Owner>, 2> step_fields{
    {{"ring_step_seconds", &Owner::ring_step_seconds}, {"exchange_step_seconds", &Owner::exchange_step_seconds}}};

template <>
inline constexpr std::array<StepField<Machine>, 3> step_fields<Machine>{
    {{"ring_step_seconds", &Machine::ring_step_seconds},
     {"exchange_step_seconds", &Machine::exchange_step_seconds},
     {"native_allreduce_seconds", &Machine::native_allreduce_seconds}}};

template <class Owner>
inline constexpr std::array<NumberField<Owner>, 0> number_fields{};

template <>
inline constexpr std::array<NumberField<Machine>, 12> number_fields<Machine>{
    {{"latency_seconds", &Machine::latency_seconds},
     {"overhead_seconds", &Machine::overhead_seconds},
     {"gap_seconds", &Machine::gap_seconds},
     {"gap_per_byte_seconds", &Machine::gap_per_byte_seconds},
     {"piece_bytes", &Machine::piece_bytes, Allowed::piece},
     {"flops_per_second", &Machine::flops_per_second},
     {"blas_flops_per_second", &Machine::blas_flops_per_second, Allowed::positive_or_zero},
     {"memory_bytes_per_second", &Machine::memory_bytes_per_second},
     {"write_bytes_per_second", &Machine::write_bytes_per_second, Allowed::positive_or_zero},
     {"large_write_bytes_per_second", &Machine::large_write_bytes_per_second, Allowed::positive_or_zero},
     {"hidden_share", &Machine::hidden_share, Allowed::share},
     {"indexed_addition_factor", &Machine::indexed_addition_factor}}};

template <>
inline constexpr std::array<NumberField<Level>, 6> number_fields<Level>{
    {{"latency_seconds", &Level::latency_seconds},
     {"overhead_seconds", &Level::overhead_seconds},
     {"gap_seconds", &Level::gap_seconds},
     {"gap_per_byte_seconds", &Level::gap_per_byte_seconds},
     {"out_bytes_per_second", &Level::out_bytes_per_second, Allowed::positive_or_zero},
     {"piece_bytes", &Level::piece_bytes, Allowed::piece}}};

}  // namespace dsop
