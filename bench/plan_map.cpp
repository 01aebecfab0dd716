#include "plan_map.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <map>
#include <string>
#include <utility>

#include "contenders.hpp"
#include "output.hpp"

namespace dsop::bench {
namespace {

// Where a forecast stands.
struct Place {
  std::string panel, column, row;
};

std::string shape_text(const Problem& problem) {
  const std::string rows = std::to_string(problem.rows);
  return problem.rows == problem.columns ? rows : rows + 'x' + std::to_string(problem.columns);
}

Place over_shapes(const Forecast& forecast) {
  const Problem& problem = forecast.plan.problem;
  return {"P = " + std::to_string(problem.ranks()) + (forecast.rate ? ", " + forecast.rate->text : "") +
              ", pairs a rank over n",
          shape_text(problem), std::to_string(problem.largest_pairs())};
}

Place over_ranks(const Forecast& forecast) {
  const Problem& problem = forecast.plan.problem;
  return {"n = " + shape_text(problem) + ", " + std::to_string(problem.largest_pairs()) + " pairs a rank, rate over P",
          std::to_string(problem.ranks()), forecast.rate->text};
}

// In the order in which they came.
template <class Key, class Value>
class Ordered {
 public:
  Value& operator[](const Key& key) {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one.first == key; });
    return found != all_.end() ? found->second : all_.emplace_back(key, Value()).second;
  }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<std::pair<Key, Value>> all_;
};

// Letters for what sends factors, digits for what sends G alone.
class Signs {
 public:
  char of(const Forecast& forecast) {
    char& sign = signs_[without_parameter(forecast.chosen.algorithm)];
    if (sign == char()) sign = forecast.factors_pay() ? letter_++ : digit_++;
    return sign;
  }
  void print(std::ostream& out) const {
    for (const auto& [algorithm, sign] : signs_)
      out << "#  " << sign << "  " << algorithm << (sign <= '9' ? ": G alone, factors do not pay" : "") << '\n';
  }

 private:
  Ordered<std::string, char> signs_;
  char letter_ = 'a';
  char digit_ = '1';
};

using Row = Ordered<std::string, const Forecast*>;  // by column
using Panel = Ordered<std::string, Row>;            // by row

constexpr int label_width = 14, cell_width = 12;

void print_row(std::ostream& out, const std::string& label, const Row& row, Signs& signs) {
  out << std::setw(label_width) << label;
  for (const auto& [column, forecast] : row)
    out << std::setw(4) << signs.of(*forecast) << std::setw(cell_width - 4)
        << with_two_decimals(forecast->gain()) + (forecast->factors_pay() ? "x" : " ");
  out << '\n';
}

void print_panel(std::ostream& out, const Panel& panel, bool pairs_differ, Signs& signs) {
  const Row& any = panel.begin()->second;
  out << '#' << std::string(label_width - 1, ' ');
  for (const auto& [column, forecast] : any) out << std::setw(cell_width) << column;
  out << '\n';
  for (const auto& [label, row] : panel) print_row(out, label, row, signs);
  if (!pairs_differ) return;
  out << "# pays to pairs";
  for (const auto& [column, forecast] : any) {
    const auto& most = forecast->factors_pay_to_pairs;
    out << std::setw(cell_width) << (most ? std::to_string(*most) : ">" + std::to_string(most_pairs));
  }
  out << '\n';
}

}  // namespace

void print_maps(std::ostream& out, const std::vector<Forecast>& forecasts) {
  const bool rates_differ = std::any_of(forecasts.begin(), forecasts.end(), [&](const Forecast& forecast) {
    return forecast.rate && forecast.rate->text != forecasts.front().rate->text;
  });
  Ordered<std::string, Panel> panels;
  for (const Forecast& forecast : forecasts) {
    const Place place = rates_differ ? over_ranks(forecast) : over_shapes(forecast);
    panels[place.panel][place.row][place.column] = &forecast;
  }
  out << "# a letter sends factors, a digit G alone; behind it how many times faster auto is than the fastest of "
         "these\n";
  Signs signs;
  for (const auto& [title, panel] : panels) {
    out << "# " << title << '\n';
    print_panel(out, panel, !rates_differ, signs);
  }
  signs.print(out);
  out << std::flush;
}

}  // namespace dsop::bench
