// How a GraphCache gets a graph for a key: room under the budget, an exec that nobody
// needs any more, or a new one.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "runtime/graph_cache.hpp"

namespace refrain {
namespace {

constexpr const char* kEvicted = "evicted for the byte budget";
constexpr const char* kLeftOut = "left out for the byte budget";
// CUDA takes graph memory in pieces of 2 MiB: of a graph under eight of them, free memory tells too little.
constexpr std::uint64_t kMeasurable = std::uint64_t{16} << 20;

std::uint64_t node_count(const Graph& graph) {
  std::uint64_t count = graph.nodes.size();
  for (const Node& node : graph.nodes)
    for (const Graph& body : node.bodies) count += node_count(body);
  return count;
}

/// What cudaGraphExecUpdate compares: the nodes, their kinds and functions, and the edges; parameters and launch dims
/// may differ.
std::uint64_t structure_of(const Graph& graph) {
  std::uint64_t hash = graph.nodes.size();
  const auto mix = [&](std::uint64_t word) { hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL + 1; };
  for (const Node& node : graph.nodes) {
    mix(static_cast<std::uint64_t>(node.kind));
    mix(std::hash<std::string>{}(node.mangled.empty() ? node.name : node.mangled));
    for (const Graph& body : node.bodies) mix(structure_of(body));
  }
  for (const Edge& edge : graph.edges) {
    mix(std::uint64_t{edge.from} << 32 | edge.to);
    mix(static_cast<std::uint64_t>(edge.kind));
  }
  return hash;
}

/// 0 where the driver can't tell.
std::uint64_t free_bytes(Driver& driver) {
  std::uint64_t bytes = 0;
  return driver.free_memory(bytes) == Status::success ? bytes : 0;
}

/// What free memory says of one graph, where it is exact enough: other programs take and give memory too, so a figure
/// that is far from the estimate is not the graph's.
std::optional<std::uint64_t> measured(std::uint64_t before, std::uint64_t after, std::uint64_t estimate) {
  if (before == 0 || after == 0 || after >= before) return std::nullopt;
  const std::uint64_t taken = before - after;
  if (taken < kMeasurable || taken < estimate / 2 || taken / 2 > estimate) return std::nullopt;
  return taken;
}

/// Whether memory of the key is dead, or only graph execs keep it: nobody can ask for the key any more.
bool is_stale(const CaptureBench& bench, const StepKey& key) {
  const auto all = bench.registry.all();
  return std::any_of(key.leases.begin(), key.leases.end(), [&](std::uint64_t allocation) {
    const bool dead = allocation >= 1 && allocation <= all.size() && all[allocation - 1].died;
    return dead || bench.arena.given_up(allocation);
  });
}

}  // namespace

GraphCache::Built GraphCache::build(const StepKey& key, Slot& slot, bool may_evict) {
  try {
    const JudgedCapture capture(bench_, steps_, key, options_.mode);
    if (capture.prepared()) slot.prepared_in = bench_.arena.wakes() + 1;
    if (capture.admitted() == nullptr) return refuse(slot, capture.violation());
    return admit(key, slot, *capture.admitted(), may_evict);
  } catch (const Error& failure) {
    if (failure.kind() != ErrorKind::driver) throw;
    return refuse(slot, failure.what());
  }
}

GraphCache::Built GraphCache::refuse(Slot& slot, std::string reason) {
  slot.eager = std::move(reason);
  return Built::refused;
}

GraphCache::Built GraphCache::admit(const StepKey& key, Slot& slot, const Captured& captured, bool may_evict) {
  const std::uint64_t nodes = node_count(captured.graph), bytes = nodes * kGraphBytesPerNode;
  const std::uint64_t structure = structure_of(captured.graph);
  if (bytes > options_.byte_budget)
    return refuse(slot, fmt::format("a graph of {} nodes takes about {} bytes, over the budget of {}", nodes, bytes,
                                    options_.byte_budget));
  Built built = Built::updated_stale;
  std::optional<GraphExec> spare = drop_stale_twins(key, structure);
  if (bytes > options_.byte_budget - std::min(bytes_, options_.byte_budget)) {
    if (!may_evict) {
      slot.absent = kLeftOut;
      return Built::left_out;
    }
    std::optional<GraphExec> evicted = make_room(bytes, structure);
    if (!spare && evicted) {
      spare.emplace(std::move(*evicted));
      built = Built::updated_evicted;
    }
  }
  slot.structure = structure;
  slot.nodes = nodes;
  slot.bytes = bytes;
  slot.measured = false;
  if (!spare) {
    instantiate(slot, captured);
    built = Built::instantiated;
  } else {
    if (!spare->replace(bench_.arena, captured, bench_.stream)) built = Built::instantiated;
    slot.exec.emplace(std::move(*spare));
  }
  bytes_ += slot.bytes;
  slot.last_used = ++turn_;
  return built;
}

void GraphCache::instantiate(Slot& slot, const Captured& captured) {
  const std::uint64_t before = free_bytes(bench_.driver);
  slot.exec.emplace(bench_.driver, bench_.arena, captured, bench_.stream);
  if (const auto exact = measured(before, free_bytes(bench_.driver), slot.bytes)) {
    slot.bytes = *exact;
    slot.measured = true;
  }
}

/// Drops every key of the same shape that is stale. One of their execs, when an update can give it the nodes.
std::optional<GraphExec> GraphCache::drop_stale_twins(const StepKey& key, std::uint64_t structure) {
  std::optional<GraphExec> spare;
  for (auto at = slots_.begin(); at != slots_.end();) {
    auto& [other, slot] = *at;
    if (other == key || !other.same_shape(key) || !is_stale(bench_, other)) {
      ++at;
      continue;
    }
    if (slot.exec) {
      std::optional<GraphExec> exec = take_exec(slot, "");
      if (!spare && slot.structure == structure) spare.emplace(std::move(*exec));
    }
    add_rows(counts_, other, slot);
    at = slots_.erase(at);
  }
  return spare;
}

/// Evicts the graphs that were used longest ago. One of their execs, when an update can give it the nodes.
std::optional<GraphExec> GraphCache::make_room(std::uint64_t bytes, std::uint64_t structure) {
  std::optional<GraphExec> spare;
  while (bytes > options_.byte_budget - std::min(bytes_, options_.byte_budget)) {
    Slots::value_type* oldest = nullptr;
    for (auto& entry : slots_)
      if (entry.second.exec && (oldest == nullptr || entry.second.last_used < oldest->second.last_used))
        oldest = &entry;
    assert(oldest != nullptr);
    std::optional<GraphExec> exec = take_exec(oldest->second, kEvicted);
    counts_.evictions.add(bucket_name(oldest->first));
    if (!spare && oldest->second.structure == structure) spare.emplace(std::move(*exec));
  }
  return spare;
}

/// Waits for the stream: a graph may be in flight.
std::optional<GraphExec> GraphCache::take_exec(Slot& slot, std::string why) {
  check(bench_.driver.synchronize(bench_.stream), "cudaStreamSynchronize");
  std::optional<GraphExec> exec(std::move(slot.exec));
  slot.exec.reset();
  slot.absent = std::move(why);
  bytes_ -= slot.bytes;
  return exec;
}

}  // namespace refrain
