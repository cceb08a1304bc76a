#include "runtime/cache_stats.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

struct NamedCounter {
  const char* name;
  Counter CacheStats::*counter;
};
constexpr NamedCounter kCounters[] = {
    {"hits", &CacheStats::hits},           {"updates", &CacheStats::updates}, {"recaptures", &CacheStats::recaptures},
    {"fallbacks", &CacheStats::fallbacks}, {"pads", &CacheStats::pads},       {"captures", &CacheStats::captures},
    {"evictions", &CacheStats::evictions}};

constexpr std::uint64_t kNoBudget = std::numeric_limits<std::uint64_t>::max();

std::size_t alive(const CacheStats& stats) {
  std::size_t count = 0;
  for (const CachedGraph& graph : stats.graphs) count += graph.absent.empty() && graph.eager.empty() ? 1 : 0;
  return count;
}

Json graph_json(const CachedGraph& g) {
  return {{"name", g.name},
          {"key", g.key},
          {"absent", g.absent.empty() ? Json(nullptr) : Json(g.absent)},
          {"eager", g.eager.empty() ? Json(nullptr) : Json(g.eager)},
          {"nodes", g.nodes},
          {"bytes", g.bytes},
          {"bytes_measured", g.bytes_measured},
          {"hits", g.hits},
          {"padded_hits", g.padded_hits},
          {"pad_rows", g.pad_rows}};
}

}  // namespace

void Counter::add(std::string_view reason, std::uint64_t times) {
  if (times == 0) return;
  count += times;
  const auto found = reasons.find(reason);
  if (found != reasons.end())
    found->second += times;
  else
    reasons.emplace(reason, times);
}

std::string cache_text(const CacheStats& stats) {
  std::string text = fmt::format("graphs      {} of {} keys, {} bytes ({} of them estimated)", alive(stats),
                                 stats.graphs.size(), stats.bytes, stats.bytes_estimated);
  text += stats.byte_budget == kNoBudget ? ", no budget\n" : fmt::format(" of a budget of {}\n", stats.byte_budget);
  text += fmt::format("lookups     {}\n", stats.lookups());
  for (const auto& [name, counter] : kCounters) {
    text += fmt::format("{:<11} {}\n", name, (stats.*counter).count);
    for (const auto& [reason, times] : (stats.*counter).reasons) text += fmt::format("  {:>9} {}\n", times, reason);
  }
  for (const CachedGraph& graph : stats.graphs)
    if (!graph.eager.empty()) text += fmt::format("EAGER       {}: {}\n", graph.name, graph.eager);
  return text;
}

std::string cache_json(const CacheStats& stats) {
  Json json{{"schema", "refrain.graph_cache/1"}, {"lookups", stats.lookups()}};
  for (const auto& [name, counter] : kCounters)
    json[name] = {{"count", (stats.*counter).count}, {"reasons", (stats.*counter).reasons}};
  json["graph_count"] = alive(stats);
  json["bytes"] = stats.bytes;
  json["bytes_estimated"] = stats.bytes_estimated;
  json["byte_budget"] = stats.byte_budget == kNoBudget ? Json(nullptr) : Json(stats.byte_budget);
  json["graphs"] = Json::array();
  for (const CachedGraph& graph : stats.graphs) json["graphs"].push_back(graph_json(graph));
  return json.dump(2) + "\n";
}

}  // namespace refrain
