// Measurements as a table for people and as JSON lines for programs.
#pragma once

#include <fstream>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "measure.hpp"

namespace dsop::bench {

std::string with_two_decimals(double number);

/// A file that rows are appended to; none if the path is empty.
class RowsFile {
 public:
  /// Throws Error naming --out if the file can't be opened.
  void open(const std::string& path);
  /// Calls write(stream) if there is a file. Throws Error naming --out if it can't be written.
  template <class Write>
  void append(Write write) {
    if (!out_.is_open()) return;
    write(out_);
    check_written();
  }

 private:
  void check_written();

  std::string path_;
  std::ofstream out_;
};

/// Puts into a row what was timed in a repetition: its number, the seconds by iteration and rank, the median's
/// interval.
void add_samples(nlohmann::ordered_json& row, const Samples& samples, std::size_t repetition);

/// How many times faster than the row of the algorithm `base` a row is, with two decimals, or "-" if there is none.
template <class Row>
std::string times_faster(const Row& row, const std::vector<Row>& rows, const std::string& base) {
  for (const Row& other : rows)
    if (other.algorithm == base)
      return with_two_decimals(median(other.samples.observations()) / median(row.samples.observations()));
  return "-";
}

/// The `#` lines above the rows. `base` is the algorithm whose time the last column but one is a ratio to.
void print_table_head(std::ostream& out, const Transport& transport, DataType type, const std::string& base);

/// One row for each measurement of a shape, then `#` lines with the ratios' intervals, with what an algorithm ran
/// as if its name leaves that open, and with auto's reason.
void print_table_rows(std::ostream& out, const std::vector<Measurement>& measurements, const std::string& base);

/// One JSON object for each measurement and repetition.
void write_json_lines(std::ostream& out, const std::vector<Measurement>& measurements, const Transport& transport,
                      const nlohmann::ordered_json& host);

}  // namespace dsop::bench
