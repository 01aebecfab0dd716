// Starting a program's ranks; for programs, not part of libdsop.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <dsop/transport.hpp>

namespace dsop::launch {

/// To be called first: opens /dev/null where a standard descriptor is closed, since the next file or socket would take
/// its number, and what is printed would go there. What is written to it is an error, as before.
void keep_standard_descriptors();

/// Whether an MPI launcher (mpirun, srun --mpi) has started this process.
bool under_mpi_launcher();

/// Whether this process is the one that should speak to the user before ranks exist: the launcher's rank 0, or alone.
bool is_reporting_process();

/// What the program needs of MPI; started calls go on by themselves only with `multiple` (MPI_THREAD_MULTIPLE), which
/// makes every message a little dearer. Threads as ranks have it always.
enum class ThreadLevel { funneled, multiple };

/// What a command line says of ranks.
struct RankOptions {
  std::optional<int> ranks = {};
  std::string transport = {};    ///< "tcp", or empty: MPI under its launcher, else threads
  std::string store = {};        ///< of ranks over TCP: file:PATH
  std::optional<int> rank = {};  ///< of this process among them
};

/// Runs body on every rank and returns the program's exit status. Over TCP this process is one rank of `ranks`; where
/// these are not given, as the environment tells (RANK and WORLD_SIZE, or Slurm's). Under an MPI launcher the ranks are
/// those of MPI_COMM_WORLD, and `ranks`, if given, must be their number; otherwise they are threads, `ranks` or else
/// `default_ranks` of them. An exception is printed on stderr and gives status 1: once if the ranks have agreed on it
/// (what dsop's calls and on_all_ranks throw), else by the rank that throws, which then ends the others too. Calls that
/// wait longer than the environment variable DSOP_STALL_SECONDS says (60; 0: never) are reported on stderr.
int run(const RankOptions& options, int default_ranks, const std::function<void(Transport&)>& body,
        ThreadLevel level = ThreadLevel::funneled);

/// Runs body in the process that speaks, without ranks, and returns the program's exit status; an exception is printed
/// on stderr and gives 1. In all others: nothing, and 0.
int run_alone(const std::function<void()>& body);

/// Ends a program that can't start, say for a wrong option: prints `why` on stderr, once over all ranks, and returns
/// the exit status, 1. Under an MPI launcher the ranks start MPI for it and meet: a launcher ends its job at the first
/// exit with an error, which would cut off the rank that speaks. Not to be called after run().
int refuse_to_run(const std::string& why);

/// Runs something that may fail on this rank alone (reading a file, taking memory). If it throws on any rank, every
/// rank throws ArgumentError with the failing ranks' words. All ranks must call it.
void on_all_ranks(Transport& transport, const std::function<void()>& body);

}  // namespace dsop::launch
