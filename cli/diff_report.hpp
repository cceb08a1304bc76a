// What `refrain diff` says about one pair of graphs, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "graphs/diff.hpp"
#include "graphs/exec_update.hpp"

namespace refrain {

struct GraphPair {
  const Graph& a;
  const Graph& b;
  GraphDiff diff;
  ExecUpdate update;
};

[[nodiscard]] GraphPair compare(const Graph& a, const Graph& b);

/// `equal`, `census`, `nodes`, `edges`, `bodies`, `exec_update`.
[[nodiscard]] nlohmann::ordered_json diff_json(const GraphPair& pair);
/// Ends in a newline.
[[nodiscard]] std::string diff_text(const GraphPair& pair);

}  // namespace refrain
