// Measurements as a table for people and as JSON lines for programs.
#pragma once

#include <fstream>
#include <functional>
#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace dsop::bench {

using Json = nlohmann::ordered_json;

struct Row;
using Rows = std::vector<std::unique_ptr<Row>>;

/// How numbers that are not whole are printed.
struct Print {
  double factor = 1;
  int decimals = 0;
  bool scientific = false;
};
inline constexpr Print microseconds{1e6, 1}, nanoseconds{1e9, 3}, percent{100, 1}, two_decimals{1, 2};

/// What is shown of a row: a column of the table, a field of the JSON object, or both.
struct Column {
  std::string title;
  int width;  ///< with the space before it; negative: two spaces, then text that begins there. 0: not in the table
  std::string key;  ///< empty: not in the JSON object
  Json value;       ///< null: "-"
  Print print = {};
};
using Columns = std::vector<Column>;

inline Columns operator+(Columns left, const Columns& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline Column field(const std::string& key, const Json& value) {
  return {"", 0, key, value};
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// What a benchmark prints and writes beside its rows.
struct Family {
  std::string name;                ///< in each JSON object
  std::string title;               ///< what the table's first line says
  std::vector<std::string> notes;  ///< lines above the columns' titles
  std::string base = {};           ///< the algorithm that others are compared with; empty: none
  std::string name_key = "family";
  bool one_line = false;    ///< an input's first row is printed for all
  bool one_object = false;  ///< and written
};

void print_head(std::ostream& out, const Family& family);

/// The lines of an input, the first of all below titles; then `#` lines with the ratios' intervals, and with what ran
/// where a name leaves that open.
void print_rows(std::ostream& out, const Family& family, const Rows& rows, bool first);

/// One JSON object for each row and repetition.
void write_rows(std::ostream& out, const Family& family, const Rows& rows, const Json& host);

/// A file that rows are appended to; none if the path is empty. Both throw Error naming --out if it can't be written.
class RowsFile {
 public:
  explicit RowsFile(const std::string& path);
  /// Calls write(stream) if there is a file.
  void append(const std::function<void(std::ostream&)>& write);

 private:
  std::string path_;
  std::ofstream out_;
};

std::string with_two_decimals(double number);

}  // namespace dsop::bench
