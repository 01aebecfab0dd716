// Files that are written whole or not at all.
#pragma once

#include <ext/stdio_filebuf.h>

#include <ostream>
#include <string>

namespace dsop {

/// Where a link leads, also if nothing is there yet.
std::string behind_links(const std::string& path);

/// Removes what processes that were killed have left beside `path`: for who knows that none writes there. What can't be
/// removed stays.
void remove_unfinished(const std::string& path);

/// A file that stands under its name only when all of it is on the disk: until then `path`.NUMBER.unfinished with a
/// number that no other has, which goes with this object. What `path` was before stays if the file is not finished, and
/// its mode stays in any case; where it is a link, that leads to the file. Of several that write one path at a time the
/// last to finish stays, whole.
class OutputFile {
 public:
  /// Throws Error naming the file if it can't be written, or if `path` is there and is no regular file.
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  std::ostream& stream() { return stream_; }
  /// Throws Error naming the file if a part of it could not be written.
  void finish();

 private:
  [[noreturn]] void fail_to_write() const;

  std::string path_;
  std::string unfinished_;
  __gnu_cxx::stdio_filebuf<char> bytes_;
  std::ostream stream_;
};

}  // namespace dsop
