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
struct Watch;
using Rows = std::vector<std::unique_ptr<Row>>;

/// How numbers that are not whole are printed.
struct Print {
  double factor = 1;
  int decimals = 0;
  bool scientific = false;
  bool is_gain = false;  ///< from 1 to least_gain it says so
};
inline constexpr Print microseconds{1e6, 1}, nanoseconds{1e9, 3}, percent{100, 1}, two_decimals{1, 2};
inline constexpr Print times_faster{1, 2, false, true};

/// What is less lies within what two runs of the same differ by.
inline constexpr double least_gain = 1.15;

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

/// How the rows of an input are measured.
struct Method {
  bool follows_path = false;   ///< two more calls, for the critical path in bytes and in messages; not in a simulation
  bool first_differs = false;  ///< from later calls, so that it is made in a simulation too
  /// One call, or all contenders as many as the fastest needs for a millisecond, or each as many as it needs itself.
  enum class Turns : unsigned char { one_call, of_fastest, of_each } turns = Turns::one_call;
};

struct Input {
  std::string text;  ///< for the line that says how far a run is
  std::function<Rows(Watch&)> rows;
};

/// A benchmark: contenders over inputs, and what is printed and written beside their rows.
struct Family {
  std::string name;                ///< in each JSON object
  std::string title;               ///< what the table's first line says
  std::vector<std::string> notes;  ///< lines above the columns' titles
  std::string name_key = "family";
  bool one_line = false;     ///< an input's first row is printed for all
  bool one_object = false;   ///< and written
  bool is_one_step = false;  ///< inputs are layers of a model: the sums of their times are printed last
  Method method = {};
  std::vector<Input> inputs = {};
};

void print_head(std::ostream& out, const Family& family);

/// The lines of an input, the first of all below titles; then `#` lines with the ratios' intervals, and with what ran
/// where a name leaves that open.
void print_rows(std::ostream& out, const Family& family, const Rows& rows, bool first);

/// Of contenders that have had all inputs: seconds of all their calls, one after the other, and how many times faster
/// that is than the fastest dense form of each input.
struct StepTimes {
  struct Sum {
    std::string label;
    double seconds = 0;
    std::size_t inputs = 0;
  };

  void add(const Rows& rows);
  void print(std::ostream& out) const;

  std::vector<Sum> sums = {};
  bool all_have_base = true;
  double base_seconds = 0;
  std::size_t inputs = 0;
};

/// One JSON object for each repetition and row.
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
