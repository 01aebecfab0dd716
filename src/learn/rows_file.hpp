// The file of --out: rows that a run appends to it, each with its commit, CPU, date and command.
#pragma once

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <dsop/errors.hpp>

#include "base/json_text.hpp"
#include "launch/provenance.hpp"

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
  void write(nlohmann::ordered_json row) {
    if (!is_open()) return;
    row["host"] = host_;
    out_ << json_text(row) << '\n' << std::flush;
    if (!out_ && error_.empty()) error_ = "--out " + path_ + ": can't be written: " + std::strerror(errno);
  }
  /// Throws Error if a row could not be written: not at once, so that a full disk costs no checkpoint.
  void check() const {
    if (!error_.empty()) throw Error(error_);
  }

 private:
  std::string path_;
  std::ofstream out_;
  nlohmann::ordered_json host_ = launch::provenance();
  std::string error_;
};

}  // namespace dsop::learn
