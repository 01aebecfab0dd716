// One run at a time for a file that runs write over and over.
#pragma once

#include <string>

namespace dsop::learn {

/// Held from its beginning to its end: a lock on an empty file `path`.lock, which goes with this object. The system
/// drops the lock of a process that has ended, however it ended, on all hosts that share the file. Where the file
/// system knows no locks it is always granted.
class PathLock {
 public:
  /// Throws Error naming both files if another holds the lock, or if there can't be such a file.
  explicit PathLock(const std::string& path);
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;
  ~PathLock();

  /// False where the file system knows no locks.
  bool holds() const { return holds_; }

 private:
  std::string name_;
  int file_ = -1;
  bool holds_ = false;
};

}  // namespace dsop::learn
