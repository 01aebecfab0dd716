// The file of --out: rows that a run appends to it.
#pragma once

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <dsop/errors.hpp>

namespace dsop::learn {

class RowsFile {
 public:
  /// Appends to `path`; nothing is written before, or if it is empty. Throws Error if it can't be opened.
  void open(const std::string& path) {
    path_ = path;
    if (path_.empty()) return;
    out_.open(path_, std::ios::app);
    if (!out_) throw Error("--out " + path_ + ": can't be opened for writing: " + std::strerror(errno));
  }
  bool is_open() const { return out_.is_open(); }
  void write(const std::string& row) {
    if (!is_open()) return;
    out_ << row << '\n' << std::flush;
    if (!out_ && error_.empty()) error_ = "--out " + path_ + ": can't be written: " + std::strerror(errno);
  }
  /// Throws Error if a row could not be written: not at once, so that a full disk costs no checkpoint.
  void check() const {
    if (!error_.empty()) throw Error(error_);
  }

 private:
  std::string path_;
  std::ofstream out_;
  std::string error_;
};

}  // namespace dsop::learn
