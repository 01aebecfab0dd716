// Where a JSON row comes from.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dsop::launch {

/// commit (when this was compiled), cpu, date and command, as rows of all programs have them.
nlohmann::ordered_json provenance();

}  // namespace dsop::launch
