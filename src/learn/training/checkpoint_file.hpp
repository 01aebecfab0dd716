// The file that a checkpoint is, whatever the model:
//
//   "dsop-train checkpoint\n", version, bytes that follow, their checksum, and in these: what the run is, its options
//   (RunIdentity, append_array each), and what the model keeps
//
// Numbers are as in memory (little-endian on all machines that dsop knows).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "learn/training/bytes.hpp"
#include "learn/training/path_lock.hpp"

namespace dsop::learn {

/// What a run is, in lines of text.
struct RunIdentity {
  std::string identity = {};  ///< what a run that goes on must have in common with it
  std::string options = {};   ///< "NAME VALUE" each: what that may have otherwise, and then says
};

/// Throws Error naming `save` if a checkpoint can't be written there, if another run writes there, or if a file is
/// there, unless it is the one that the run goes on from: other runs' are not written over. Both may be empty. What it
/// returns keeps other runs away.
[[nodiscard]] std::unique_ptr<PathLock> check_save(const std::string& save, const std::string& resume);

/// What follows the checksum, up to what the model keeps.
std::string begin_body(const RunIdentity& run);

/// Writes the file as an OutputFile, so that `path` always is a whole checkpoint. `body` is what follows the checksum.
/// Throws Error and leaves `path` as it was.
void write_checkpoint_file(const std::string& path, const std::string& body);

/// What stands in a file, behind its identity and options, one thing after the other.
class CheckpointReader {
 public:
  /// Reads the file whole. Throws Error naming it if it can't be read, is none, is cut off or damaged, or has another
  /// version or identity; of that the first line that differs.
  CheckpointReader(const std::string& path, const RunIdentity& run);
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  /// Those that are other ones than in the file, as "--clip 1 instead of 0, --wire bf16 instead of full"; 0.10 is 0.1.
  const std::string& other_options() const { return other_options_; }

  template <class T>
  T number() {
    return take<T>(rest_);
  }
  std::string_view bytes() { return take_array(rest_, 1); }
  /// Throws Error unless the array has as many.
  void elements(std::span<float> elements);

 private:
  std::string path_;
  std::string body_;
  std::string_view rest_;  // of body_
  std::string other_options_;
};

/// Says on stderr, in one line, what options are not those of `resume`, if any. For one rank.
void say_other_options(const std::string& resume, const std::string& other_options);

/// Says on stderr that `resume` leaves nothing to do; `asked_for` is as "4 epochs". For one rank.
void say_nothing_is_left(const std::string& resume, const std::string& asked_for);

/// What becomes of checkpoints when a run fails, for its message. `has_saved`: it has written one.
inline std::string what_is_left(const std::string& save, const std::string& resume, bool has_saved) {
  const bool is_there = has_saved || !resume.empty();
  return save.empty() || !is_there ? "Nothing was saved" : "The last checkpoint stays as it was";
}

}  // namespace dsop::learn
