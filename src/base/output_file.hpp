// Files that are written whole or not at all.
#pragma once

#include <fstream>
#include <ostream>
#include <string>

namespace dsop {

/// A file that stands under its name only when all of it is on the disk: until then `path`.unfinished, which goes with
/// this object. What `path` was before stays if the file is not finished; where it is a link, that leads to the file.
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
  std::ofstream stream_;
};

}  // namespace dsop
