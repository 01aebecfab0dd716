#include "output.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

#include <dsop/errors.hpp>

#include "base/json_text.hpp"
#include "benchmark.hpp"
#include "program_version.hpp"
#include "statistics.hpp"

namespace dsop::bench {
namespace {

std::string text_of(const Json& value, const Print& print) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value;
  if (value.is_number_integer()) return value.dump();
  const auto number = value.get<double>();
  if (print.is_gain && number > 1 && number < least_gain) return "no gain";
  std::ostringstream text;
  text << (print.scientific ? std::scientific : std::fixed) << std::setprecision(print.decimals)
       << number * print.factor;
  return text.str();
}

std::string line_of(const Columns& columns, bool titles) {
  std::ostringstream line;
  for (const Column& column : columns) {
    if (column.width == 0) continue;
    const std::string text = titles ? column.title : text_of(column.value, column.print);
    if (column.width < 0)
      line << "  " << std::left << std::setw(-column.width) << text << std::right;
    else  // a number may be wider than its column
      line << ' ' << std::setw(column.width - 1) << text;
  }
  return line.str() + '\n';
}

// Observation i of all rows was made at the same time, so the ratio is formed within each.
void print_ratio_intervals(std::ostream& out, const Rows& rows, const Row& base) {
  const std::vector<double> base_seconds = base.samples.observations();
  out << "# base: " << base.label << '\n'
      << (base_seconds.size() >= 6 ? "# x base, 95 % interval of the median of ratios:"
                                   : "# x base, range of the ratios, too few for an interval:");
  for (const auto& row : rows) {
    if (row.get() == &base) continue;
    std::vector<double> ratios = row->samples.observations();
    for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = base_seconds[i] / ratios[i];
    const Interval interval = median_interval(ratios, base.samples.observations_confidence());
    out << ' ' << row->label << ' ' << with_two_decimals(interval.low) << ".." << with_two_decimals(interval.high);
  }
  out << '\n';
}

}  // namespace

void print_head(std::ostream& out, const Family& family) {
  out << "# dsop-bench " << version << ' ' << family.title << '\n';
  for (const std::string& note : family.notes) out << "# " << note << '\n';
  out << std::flush;
}

void print_rows(std::ostream& out, const Family& family, const Rows& rows, bool first) {
  if (first) out << '#' << line_of(rows.front()->columns(), true).substr(1);
  for (const auto& row : rows) {
    out << line_of(row->columns(), false);
    if (family.one_line) break;
  }
  if (rows.front()->base != nullptr) print_ratio_intervals(out, rows, *rows.front()->base);
  for (const auto& row : rows)
    if (!row->used.empty() && (row->used != row->algorithm || !row->reason.empty()))
      out << "# " << row->label << " used " << row->used << (row->reason.empty() ? "" : ": ") << row->reason << '\n';
  out << std::flush;
}

void StepTimes::add(const Rows& rows) {
  ++inputs;
  const Row* const base = rows.front()->base;
  all_have_base = all_have_base && base != nullptr;
  if (base != nullptr) base_seconds += base->median_seconds();
  for (const auto& row : rows) {
    auto sum = std::ranges::find(sums, row->label, &Sum::label);
    if (sum == sums.end()) sum = sums.insert(sum, {row->label});
    sum->seconds += row->median_seconds();
    ++sum->inputs;
  }
}

void StepTimes::print(std::ostream& out) const {
  out << "# all layers, one call after the other: median(us), x base\n";
  for (const Sum& sum : sums)
    if (sum.inputs == inputs)
      out << '#'
          << line_of({{"", -36, "", sum.label},
                      {"", 13, "", sum.seconds, microseconds},
                      {"", 9, "", all_have_base ? Json(base_seconds / sum.seconds) : Json(), times_faster}},
                     false);
  out << std::flush;
}

void write_rows(std::ostream& out, const Family& family, const Rows& rows, const Json& host) {
  std::vector<Samples> all;
  for (const auto& row : rows) all.push_back(row->samples);
  for (std::size_t repetition = 0; repetition < all.front().seconds.size(); ++repetition) {
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r]->samples = all[r].only(repetition);  // rows look at others
    for (const auto& row : rows) {
      Json json{{family.name_key, family.name}};
      for (const Column& column : row->columns())
        if (!column.key.empty()) json[column.key] = column.value;
      json["host"] = host;
      out << json_text(json) << '\n';
      if (family.one_object) break;
    }
  }
  out << std::flush;
}

RowsFile::RowsFile(const std::string& path) : path_(path) {
  if (path.empty()) return;
  out_.open(path, std::ios::app);
  if (!out_) throw Error("--out " + path + ": can't be opened for writing");
}

void RowsFile::append(const std::function<void(std::ostream&)>& write) {
  if (!out_.is_open()) return;
  write(out_);
  if (!out_.flush()) throw Error("--out " + path_ + ": can't be written");
}

std::string with_two_decimals(double number) {
  return text_of(number, two_decimals);
}

}  // namespace dsop::bench
