// The machine as the planner sees it: the LogGP model of the network, and two rates for local arithmetic.
#pragma once

#include <cstddef>
#include <string>

namespace dsop {

enum class DataType : unsigned char;

/// LogGP (Alexandrov et al. 1995) with arithmetic. All ranks of a call must be given the same numbers. Rates are those
/// of one rank while all others are busy too.
struct Machine {
  double latency_seconds = 10e-6;                      ///< L: a byte's way through the network
  double overhead_seconds = 2e-6;                      ///< o: the processor's time to send or to receive a message
  double gap_seconds = 2e-6;                           ///< g: least time between two messages of one rank
  double gap_per_byte_seconds = 0.8e-9;                ///< G: 0.8 ns a byte is 10 Gbit/s
  double flops_per_second = 40e9;                      ///< of a local product in f32; f64 runs at half of it
  double memory_bytes_per_second = 8e9;                ///< of reading or writing large arrays
  std::string source = "default (10 Gbit/s cluster)";  ///< where the numbers come from; takes no part in ==

  /// Seconds from the start of a send until the receiver has all of the message and the next may start:
  /// max(L + 2 o, g) + bytes G.
  double message_seconds(std::size_t bytes) const;
  /// Seconds until a rank has sent and received so many messages of `bytes` in all, none of which waits for another.
  double independent_messages_seconds(std::size_t messages, std::size_t bytes) const;
  /// Seconds for n x m elements of type `type` with inner dimension K, written once.
  double product_seconds(double n, double m, double K, DataType type) const;
  /// Seconds to add one vector to another: two reads and one write an element.
  double addition_seconds(double elements, DataType type) const;
  /// Seconds to read or write so much of large arrays.
  double memory_seconds(double bytes) const;

  bool operator==(const Machine& other) const;
};

/// The machine for ranks that are threads of one process, when nothing was measured.
Machine default_threads_machine();

/// Throws ArgumentError naming the first number that is not above 0 and finite.
void check_machine(const Machine& machine);

/// Reads what write_machine wrote: a JSON object with the fields' names; missing fields keep their defaults. Throws
/// Error naming the file and the field if it is unreadable, has an unknown field or a number that makes no sense.
Machine read_machine(const std::string& path);
void write_machine(const Machine& machine, const std::string& path);

}  // namespace dsop
