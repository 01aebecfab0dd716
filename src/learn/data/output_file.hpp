// Files that programs write.
#pragma once

#include <fstream>
#include <initializer_list>
#include <ostream>
#include <string>

namespace dsop::learn {

/// A file and the option or argument that names it; without a path there is none.
struct NamedFile {
  std::string name;
  std::string path;
};

/// Throws Error naming both if `written` is one of `others`, by whatever path; that neither is there yet does not
/// matter.
void refuse_same_file(const NamedFile& written, std::initializer_list<NamedFile> others);

/// A file that stands under its name only when all of it is on the disk: until then `path`.unfinished, which goes with
/// this object. What `path` was before stays if the file is not finished.
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

}  // namespace dsop::learn
