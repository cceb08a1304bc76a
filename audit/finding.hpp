// One broken rule at one place, with its evidence, its certainty and a way to
// mend it; and the report that collects findings with what could not be checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

/// error: wrong results, a failed capture or a stall in a step. warning: cost or fragility. note: worth knowing.
enum class Severity : std::uint8_t { note, warning, error };
[[nodiscard]] const char* to_string(Severity) noexcept;

/// `open` counts towards the exit code; `known` stood in the baseline; `suppressed` by an entry of `--suppress`.
enum class Standing : std::uint8_t { open, known, suppressed };
[[nodiscard]] const char* to_string(Standing) noexcept;

struct Finding {
  std::string rule;  ///< `RF301`
  std::string name;  ///< `scratch-not-zeroed`
  Severity severity = Severity::error;
  Certainty certainty = Certainty::contract;
  std::uint64_t count = 1;            ///< how often the same cause was seen
  std::string where;                  ///< a sentence: graph, node, buffer, or call
  std::string graph;                  ///< path of the graph, `step/node 9/graph_5`; empty when no graph is meant
  std::vector<NodeId> nodes;          ///< in that graph
  std::string message;                ///< one sentence: what is wrong and what it does
  std::vector<std::string> evidence;  ///< facts, one sentence each
  std::string fix;                    ///< how to mend this one
  std::string fingerprint;            ///< 16 hex digits, stable across runs: no address, no time
  std::string input;                  ///< name of the recording or file that it was found in
  std::optional<std::uint64_t> call;  ///< sequence number in the timeline of the call that `where` tells of
  std::optional<std::size_t> step;    ///< the step that `where` tells of, from 1 on: the worst, when there are several
  Standing standing = Standing::open;
  std::string excuse;  ///< why a suppressed one is: the reason that its entry gives
};

struct NotChecked {
  std::string rule;
  std::string reason;
  std::string input;  ///< as in Finding
};

}  // namespace refrain
