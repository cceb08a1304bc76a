// What a graph cache has done and holds, as plain values and in two printed forms. Every
// lookup is one hit, update, recapture or fallback; nothing is counted twice, and each
// count is the sum of its reasons.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

struct Counter {
  std::uint64_t count = 0;
  std::map<std::string, std::uint64_t, std::less<>> reasons;

  void add(std::string_view reason, std::uint64_t times = 1);
};

/// One key that the cache knows.
struct CachedGraph {
  std::string name;    ///< bucket_name(): `decode rows=24`
  std::string key;     ///< to_string(StepKey)
  std::string absent;  ///< why there is no graph: evicted, left out, ...; empty where there is one
  std::string eager;   ///< why the step runs eagerly: its first violation; empty where it does not
  std::uint64_t nodes = 0;
  std::uint64_t bytes = 0;        ///< of the driver, for the instantiated graph; nothing of the arena
  bool bytes_measured = false;    ///< false: estimated from the nodes
  std::uint64_t hits = 0;         ///< of the graph that stands now and those before it
  std::uint64_t padded_hits = 0;  ///< of these, with pad rows
  std::uint64_t pad_rows = 0;     ///< in all lookups
};

struct CacheStats {
  // Lookups, by how they were served.
  Counter hits;        ///< reasons: exact, padded
  Counter updates;     ///< captured again, and an exec that nobody needed took the nodes by cudaGraphExecUpdate
  Counter recaptures;  ///< captured and instantiated, though the step was already waiting
  Counter fallbacks;   ///< ran eagerly; reasons: first violations
  // Beside the lookups.
  Counter pads;       ///< pad rows that were launched; reasons: buckets
  Counter captures;   ///< of warm-ups; reasons: how they ended
  Counter evictions;  ///< reasons: the buckets that went

  std::vector<CachedGraph> graphs;  ///< by key
  std::uint64_t bytes = 0;          ///< of all graphs
  std::uint64_t bytes_estimated = 0;
  std::uint64_t byte_budget = 0;

  [[nodiscard]] std::uint64_t lookups() const noexcept {
    return hits.count + updates.count + recaptures.count + fallbacks.count;
  }
};

/// For a terminal or a log; ends in a newline.
[[nodiscard]] std::string cache_text(const CacheStats& stats);
/// `refrain.graph_cache/1`, pretty-printed, ending in a newline.
[[nodiscard]] std::string cache_json(const CacheStats& stats);

}  // namespace refrain
