// The machine as the planner sees it: the network as LogGP or as measured steps, level by level, and the rates of local
// arithmetic and of memory.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace dsop {

enum class DataType : unsigned char;

/// Messages whose steps are measured: MPI libraries change their ways with the size, so that no line fits all.
constexpr std::array<std::size_t, 6> step_bytes{1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22};
/// Seconds of a step with messages of step_bytes; zeros where nothing was measured.
using StepSeconds = std::array<double, step_bytes.size()>;

/// The algorithm that was the fastest in a measurement.
struct Winner {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t pairs = 0;  ///< of the rank with the most
  int ranks = 1;
  DataType type{};
  std::string algorithm = {};  ///< perhaps with its parameter

  bool operator==(const Winner&) const = default;
};

/// Ranks that are nearer to each other than to the rest, those of a node or of a rack: what they say to each other
/// inside such a group, and what leaves it. A message belongs to the innermost level whose group has both its ranks.
struct Level {
  int nodes = 1;                         ///< of a group, counted in the order of their lowest ranks: 1, or a rack's
  double latency_seconds = 1e-6;         ///< this and what follows as in Machine, of messages inside a group
  double overhead_seconds = 0.5e-6;      ///< o
  double gap_seconds = 0.5e-6;           ///< g
  double gap_per_byte_seconds = 0.2e-9;  ///< G, of one rank
  double out_bytes_per_second = 0;       ///< what all ranks of a group send out of it together, or receive; 0: as much
                                         ///< as one of them
  double piece_bytes = 4032;             ///< as in Machine, of a node's level, whose pieces are four at most: for a
                                         ///< longer message one handshake costs less. Other levels' are not used
  StepSeconds ring_step_seconds{};       ///< zeros: the line that latency and gaps make
  StepSeconds exchange_step_seconds{};   ///< as well

  /// As those of Machine, of messages inside a group.
  double message_seconds(std::size_t bytes, std::size_t messages = 1) const;
  double exchange_seconds(std::size_t bytes, std::size_t messages = 1) const;

  bool operator==(const Level&) const = default;
};

/// What a machine was measured on; 0 and empty: nobody has said.
struct MeasuredOn {
  int ranks = 0;
  int nodes = 0;
  int threads = 0;                 ///< OpenMP's, of a rank
  std::string transport = {};      ///< its name: mpi
  double arithmetic_spread = 0;    ///< the largest ratio of the fastest to the slowest measurement of one rate of
                                   ///< arithmetic or memory; from 1.3 on plans warn; 0: not known
  double hidden_share_spread = 0;  ///< of the largest hidden_share that was measured from the smallest; plans doubt
                                   ///< what is wide, and warn from 0.3 on

  bool operator==(const MeasuredOn&) const = default;
};

/// LogGP (Alexandrov et al. 1995) with arithmetic. All ranks of a call must be given the same numbers. Rates are those
/// of one rank while all others are busy too; those of the network, of one rank of each group of the last inner level.
struct Machine {
  double latency_seconds = 10e-6;           ///< L: a byte's way through the network
  double overhead_seconds = 2e-6;           ///< o: the processor's time to send or to receive a message, and
                                            ///< the wait for a turn on it where ranks share cores
  double gap_seconds = 2e-6;                ///< g: least time between two messages of one rank
  double gap_per_byte_seconds = 0.8e-9;     ///< G: 0.8 ns a byte is 10 Gbit/s
  double piece_bytes = 60 << 10;            ///< over MPI a message travels in pieces of at most so many; 0: whole. At
                                            ///< least 1024 otherwise
  double flops_per_second = 40e9;           ///< of a local product in f32; f64 runs at half of it
  double blas_flops_per_second = 0;         ///< of those of more than 192 pairs (f64: 128), mostly by BLAS; 0: as many
  double memory_bytes_per_second = 8e9;     ///< of reading or writing large arrays
  double write_bytes_per_second = 0;        ///< of a local product that writes less than 32 MiB; 0: as many
  double large_write_bytes_per_second = 0;  ///< of one that writes 32 MiB or more; 0: as of less
  double hidden_share = 0;                  ///< 0 .. 1, of arithmetic that could be done while messages
                                            ///< travel: what then takes no time of its own, as measured
  double indexed_addition_factor = 2.5;     ///< elements of dense vectors that are added while one with its
                                            ///< index is, of two sparse vectors
  StepSeconds ring_step_seconds{};          ///< every rank sends to the right, receives from the left
  StepSeconds exchange_step_seconds{};      ///< every rank sends to a partner and receives from it
  std::vector<Level> inner_levels = {};     ///< from a node on, each in the next; the numbers above are those
                                            ///< of the outermost. Empty: one level for all messages
  /// Of MPI's own allreduce of step_bytes in f32, on as many ranks as the machine was measured on; zeros: not measured.
  StepSeconds native_allreduce_seconds{};
  std::vector<Winner> winners = {};                    ///< taken before what the formulas say, where they can serve,
                                                       ///< MPI's own among them: who tunes takes what is fastest
  MeasuredOn measured_on = {};                         ///< where else it is planned for, plans warn
  std::string source = "default (10 Gbit/s cluster)";  ///< where the numbers come from; takes no part in ==

  /// Seconds from the start of a send until the receiver has all of the message and the next may start:
  /// max(L + 2 o, g) + bytes G, or between the measured steps of a ring. `bytes` may be sent as several messages, none
  /// of which waits for another: a gap more for each.
  double message_seconds(std::size_t bytes, std::size_t messages = 1) const;
  /// The same where partners change with each step, which some networks and MPI libraries do more slowly.
  double exchange_seconds(std::size_t bytes, std::size_t messages = 1) const;
  /// Of MPI's own allreduce of `bytes` on so many ranks; 0 if it was not measured on as many.
  double native_seconds(std::size_t bytes, int ranks) const;
  /// Seconds for n x m elements of type `type` with inner dimension K: sqrt(a^2 + w^2) of arithmetic and of writing,
  /// since a processor writes one block while it multiplies the next.
  double product_seconds(double n, double m, double K, DataType type) const;
  /// Seconds for `elements` written once, then `scattered` additions to single elements of rows in the cache and
  /// `in_rows` additions to whole rows of them.
  double sparse_product_seconds(double elements, double scattered, double in_rows, DataType type) const;
  /// Seconds to add one vector to another: two reads and one write an element.
  double addition_seconds(double elements, DataType type) const;
  /// Seconds to read or write so much of large arrays.
  double memory_seconds(double bytes) const;

  bool operator==(const Machine& other) const;
};

/// The machine for ranks that are threads of one process, when nothing was measured.
Machine default_threads_machine();

/// Throws ArgumentError naming the first number that makes no sense: of hidden_share, that is not from 0 to 1; of
/// piece_bytes, that is no length of pieces; of all others, that is not above 0 and finite, 0 being allowed where it
/// says that something was not measured; of inner levels, whose groups are no whole number of the one's before.
void check_machine(const Machine& machine);

/// Why what the machine says may not hold for so many ranks, on nodes as in Problem, with so many of OpenMP's threads
/// each: it was measured elsewhere, or on cores that had other work, or has levels that do not fit. Else "". `ranks`
/// and `threads` may be 0: not known.
std::string why_not_valid(const Machine& machine, int ranks, const std::vector<int>& nodes_of_ranks, int threads = 0);

/// Reads what write_machine wrote: a JSON object with the fields' names; missing fields keep their defaults, and a file
/// of version 1, which had no levels, has one. Throws Error naming the file and the field if it is unreadable, of
/// another version, has an unknown field or a number that makes no sense.
Machine read_machine(const std::string& path);
/// Replaces the file as a whole, by way of `path`.unfinished, so that an interruption leaves the old one. Throws Error
/// naming it.
void write_machine(const Machine& machine, const std::string& path);

}  // namespace dsop
