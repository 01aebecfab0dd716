// JSON to and from text that others have written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <dsop/errors.hpp>

#include "base/shown.hpp"

namespace dsop {

/// Never throws for what it holds: paths, host names and the environment need be no UTF-8, and what is not becomes
/// U+FFFD.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// Throws Error that says what is wrong and where. More levels than any file of ours has are refused: to copy or print
/// many would take more stack than there is.
inline nlohmann::json parsed_json(const std::string& text) {
  constexpr int most_levels = 16;
  const auto check_depth = [](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > most_levels) throw Error("is nested in more than " + std::to_string(most_levels) + " levels");
    return true;
  };
  try {
    return nlohmann::json::parse(text, check_depth);
  } catch (const nlohmann::json::exception& failure) {
    const std::string_view what = failure.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    throw Error("not JSON: " + shown(what.substr(what.find("] ") + 2), 300));
  }
}

}  // namespace dsop
