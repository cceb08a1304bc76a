// Ways to break a clean graph, one sentence each: what a hurried change to a step
// leaves behind. An operator lists the places where it can strike; a site applied
// to a copy of the graph makes one mutant. Operators judge nothing: whether a mutant
// is broken at all is for harms.hpp, whether the audit sees it for mutate.hpp.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain::mutate {

using Random = std::mt19937_64;

struct Site {
  std::string what;  ///< `drop node 2 (pad_fix)`
  std::function<void(Graph&)> apply;
};

using Sites = std::vector<Site>;

struct Operator {
  const char* name;
  const char* summary;
  /// `random` chooses lengths and targets, so that a seed repeats a run.
  Sites (*sites)(const Graph& clean, Random& random);
  /// How many faults a mutant has to who reads the graph, and so the most findings that it may give.
  std::size_t faults = 1;
};

/// In the order in which they run and are reported.
[[nodiscard]] std::span<const Operator> operators() noexcept;

// One file each, by what they do to the graph.
Sites drop_nodes(const Graph&, Random&);
Sites drop_edges(const Graph&, Random&);
Sites drop_entries(const Graph&, Random&);
Sites drop_gives(const Graph&, Random&);
Sites move_givers(const Graph&, Random&);
Sites unorder_pairs(const Graph&, Random&);
Sites shorten_writes(const Graph&, Random&);
Sites shorten_gives(const Graph&, Random&);
Sites shorten_entries(const Graph&, Random&);
Sites shorten_buffers(const Graph&, Random&);
Sites retype_spaces(const Graph&, Random&);
Sites retype_copies(const Graph&, Random&);
Sites retarget_accesses(const Graph&, Random&);
Sites reach_past_ends(const Graph&, Random&);
Sites write_reserved(const Graph&, Random&);
Sites kill_buffers(const Graph&, Random&);
Sites reuse_addresses(const Graph&, Random&);
Sites grow_workspaces(const Graph&, Random&);
Sites halve_partials(const Graph&, Random&);
Sites make_host_nodes(const Graph&, Random&);
Sites build_on_host(const Graph&, Random&);
Sites make_programmatic(const Graph&, Random&);
Sites trigger_first(const Graph&, Random&);
Sites append_anywhere(const Graph&, Random&);

}  // namespace refrain::mutate
