// The machine that a communicator's calls plan for where the caller describes none, and when it is measured.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/transport.hpp>

#include "call/values.hpp"

namespace dsop {

/// DSOP_MACHINE says which: a file's, `default`, the transport's, or `probe`, what is measured; if it says nothing,
/// `probe`. All ranks must be told alike. Only what must choose an algorithm waits for a probe: others plan for the
/// transport's machine, so that a named algorithm has the same parameter, and bits, in every run. What a probe found in
/// an earlier run, and a checkpoint has kept, goes before all of these.
class MachineSource {
 public:
  explicit MachineSource(const Transport& transport);

  /// Whether all ranks have been told alike, once and for all.
  bool is_agreed() const { return is_agreed_; }
  /// Looks into the environment. Throws Error naming DSOP_MACHINE if it names a file that can't be read.
  void ask_environment();
  /// What ask_environment() has found: a file's name, `default` or `probe`.
  const std::string& requested() const { return requested_; }
  /// All ranks have found the same.
  void agree() { is_agreed_ = true; }

  /// Whether a resumed run needs this machine to make the same choices: a file or a probe may say something else then.
  bool is_known() const { return is_agreed_ && (is_file_ || is_measured_ || (is_probed_ && requested_ != probe)); }
  /// Whether a probe has found it; what names an algorithm then plans for another.
  bool is_measured() const { return is_measured_; }
  /// Whether calls may choose by what a probe has found, in this run or in the one that is resumed.
  bool takes_probed() const { return is_probed_ && is_agreed_; }
  /// Null while what calls must choose by is still to be measured.
  const DescribedMachine* to_choose_by() const;
  const DescribedMachine& unprobed() const { return is_file_ ? machine_ : default_; }

  /// Measures the machine. A duplicate of a communicator takes that one's, if all its ranks have it. All ranks call
  /// it after an agreement, if to_choose_by() is null. If it throws AgreedError, which all ranks then do, they may call
  /// it again. `nodes` as in Problem.
  void measure(Transport& transport, const std::vector<int>& nodes);
  /// Takes what a probe has found before, in another run, as if it were measured now. All ranks call it, with one
  /// machine, where takes_probed().
  void take(Transport& transport, std::shared_ptr<const Machine> probed);

 private:
  static constexpr const char* probe = "probe";

  DescribedMachine default_;
  DescribedMachine machine_;  // the file's, or measured
  std::string requested_;
  bool is_probed_;
  bool is_agreed_ = false;
  bool is_file_ = false;
  bool is_measured_ = false;
};

/// The one that plans are shown for: the given one, else the communicator's as far as it is known; for what `chooses`
/// an algorithm by it, or for a named one. Sends nothing.
const Machine& planned_machine(Transport& transport, const std::optional<Machine>& given, bool chooses = true);
/// What a checkpoint holds: the given one, else the communicator's, unless that is still the transport's own.
struct SavedMachine {
  std::optional<Machine> machine;
  bool is_probed = false;
};
SavedMachine machine_to_keep(Transport& transport, const std::optional<Machine>& given);

}  // namespace dsop
