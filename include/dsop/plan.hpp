// What a call will do and why: a value that is the same on every rank and can be printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/problem.hpp>
#include <dsop/product_method.hpp>

namespace dsop {

struct AllgatherAlgorithm;
struct Traffic;
struct OuterProductAlgorithm;

/// What an algorithm costs: the largest number over all ranks of each.
struct Cost {
  std::size_t messages = 0;  ///< sent
  std::size_t bytes = 0;     ///< sent
  double flops = 0;          ///< additions and multiplications of the local products and sums
  double communication_seconds = 0;
  double arithmetic_seconds = 0;
  double hidden_seconds = 0;  ///< of arithmetic that is done while messages travel; taken off the communication

  /// Of the algorithm alone, without the agreement that opens the call.
  double seconds() const { return communication_seconds + arithmetic_seconds; }
  /// Takes in one rank's messages and bytes.
  void raise_to(const Traffic& rank);
  /// The seconds of communication that leave the processor free: without o at both ends of a message and one copy of
  /// its bytes. Little where messages are copied between ranks of one host, nearly all where a slow link carries them.
  double idle_seconds(const Machine& machine) const;
  /// Hides `share` of so many seconds of arithmetic behind messages, as far as they fit into the idle time.
  void hide(double share, double seconds, const Machine& machine);
  /// Takes what the machine hides of so much arithmetic off the communication.
  void hide(double seconds, const Machine& machine);
};

/// Allgathers of equal blocks, one after the other.
struct Exchange {
  const AllgatherAlgorithm* algorithm = nullptr;  ///< null: there is none
  AllgatherProblem problem = {};
  std::size_t count = 1;
};

/// The allgathers that an algorithm makes, each by the pattern that was chosen for it.
struct Exchanges {
  Exchange factors = {};                ///< of all ranks' pairs
  Exchange gradient = {};               ///< of the parts of G
  std::vector<Exchange> segments = {};  ///< of factors or of G, where these travel in segments; equal ones together
};

/// An algorithm that was considered: its cost, or why it can't serve. Filled member by member: where a member of an
/// aggregate throws, g++ 12 destroys those before it twice.
struct Candidate {
  std::string algorithm;  ///< with its parameter: "ring-pipelined(8)"
  double parameter = 0;
  Cost cost;
  std::string unsupported;       ///< empty, or the reason
  double needed_lead = 1;        ///< `auto` counts the algorithm's seconds so many times
  double agreement_seconds = 0;  ///< of what opens the call, with the factors that ride
  bool piggybacks = false;   ///< its factors ride there in place of its messages, from the second call like this one on
  Exchanges exchanges = {};  ///< of the chosen one: those that the plan will make

  /// What the whole call is predicted to take.
  double seconds() const { return agreement_seconds + (piggybacks ? cost.arithmetic_seconds : cost.seconds()); }
};

/// What calls with a plan took on this rank, beside what is predicted; all 0 before any.
struct Measured {
  std::uint64_t calls = 0;
  double last_seconds = 0;       ///< of the last call, from the end of its agreement on
  double median_seconds = 0;     ///< of the last 16 of them
  double waited_seconds = 0;     ///< in the agreement that opens a call, for ranks that come later: the mean of all
  double predicted_seconds = 0;  ///< without the agreement; 0: not known, by a machine that is still to be measured

  /// Whether they differ so much, by 1.3x, that the machine should be calibrated again.
  bool is_off() const {
    return predicted_seconds > 0 &&
           (median_seconds > 1.3 * predicted_seconds || predicted_seconds > 1.3 * median_seconds);
  }
};

/// What plans of all families say. A plan is a pure function of what all ranks said and of the machine, so every rank
/// has the same one, but for `measured`.
template <class Algorithm, class OfProblem>
struct PlanOf {
  const Algorithm* algorithm = nullptr;
  double parameter = 0;  ///< the number that the algorithm leaves open
  std::string reason;    ///< why this algorithm
  OfProblem problem;
  std::size_t workspace_bytes = 0;
  std::size_t result_bytes = 0;  ///< where the call makes the sum's memory: the most that it can take, in whole values
  std::string warning;           ///< why the machine may not hold for these ranks; usually empty
  Measured measured;             ///< of an object's, or a communicator's, calls with this plan; this rank's own
  std::vector<Candidate> candidates;  ///< all known algorithms as auto prefers them: by the call's time, the
                                      ///< algorithm's part of it times needed_lead; then the MPI library's own,
                                      ///< unsupported last

  const std::string& algorithm_name() const;
  std::string algorithm_text() const;  ///< with its parameter: "ring-pipelined(8)"
  const Candidate& chosen() const;     ///< of the candidates
  const Cost& cost() const;            ///< of the algorithm alone
  double seconds() const;              ///< predicted for the whole call
};

/// Of an outer product.
struct Plan : PlanOf<OuterProductAlgorithm, Problem>, Exchanges {
  std::string auto_choice;  ///< with its parameter: what "auto" takes, a winner of the machine or the least predicted
  bool auto_is_measured = false;  ///< whether that is a winner
  Machine machine;
  int threads = 0;                       ///< OpenMP's, of a rank; 0: not known
  ProductMethod shared_method;           ///< for products that several ranks make of the same elements
  std::vector<std::size_t> pair_bounds;  ///< rank r's pairs are pair_bounds[r] .. pair_bounds[r + 1]
  std::vector<std::size_t> row_bounds;   ///< rank r's rows of a sharded G are row_bounds[r] .. row_bounds[r + 1]
  std::vector<int> leaders;              ///< the lowest rank of each node; empty if no two ranks share one
  /// A started call runs when it is waited for: some rank's transport allows no thread. So it does on one rank, always,
  /// and on a rank whose system had no more threads at the first start, until a later start gets one: neither is told.
  bool runs_at_wait = false;
};

/// Several lines: the problem, the choice and its reason, the predicted times of all, what can't serve and why.
std::ostream& operator<<(std::ostream& out, const Plan& plan);

/// The plan for a problem, without communicating. `algorithm` is a name, perhaps with its parameter, or "auto"; for a
/// sharded problem a name of the family "sharded". Throws ArgumentError when the name is unknown (the text lists the
/// known ones), when it can't serve, when the problem's parts do not fit its ranks, or when sizes overflow.
Plan make_plan(const Problem& problem, const Machine& machine, const std::string& algorithm = "auto",
               ProductMethod shared_method = {});

}  // namespace dsop
