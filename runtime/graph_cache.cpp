#include "runtime/graph_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>

#include "runtime/owned_stream.hpp"

namespace refrain {

const char* to_string(Served served) noexcept {
  switch (served) {
    case Served::hit: return "hit";
    case Served::update: return "update";
    case Served::recapture: return "recapture";
    case Served::fallback: return "fallback";
  }
  return "?";
}

GraphCache::GraphCache(const CaptureBench& bench, StepRecorder steps, CacheOptions options)
    : bench_(bench), steps_(std::move(steps)), options_(std::move(options)) {
  if (!steps_.record) throw Error(ErrorKind::usage, "StepRecorder::record", "a graph cache needs one", "");
  if (!options_.on_fallback)
    throw Error(ErrorKind::usage, "CacheOptions::on_fallback", "required: a fallback is never silent", "");
}

GraphCache::~GraphCache() {
  if (slots_.empty()) return;
  const RelaxedCaptureMode relaxed(bench_.driver);
  (void)bench_.driver.synchronize(bench_.stream);
  slots_.clear();
}

WarmUp GraphCache::warm_up(const BucketPolicy& policy, const std::function<StepKey(std::int32_t size)>& key_for,
                           const Progress& progress) {
  std::vector<StepKey> keys;
  for (const std::int32_t size : policy.sizes()) keys.push_back(key_for(size));
  return warm_up(std::move(keys), progress);
}

WarmUp GraphCache::warm_up(std::vector<StepKey> keys, const Progress& progress) {
  std::stable_sort(keys.begin(), keys.end(), [](const StepKey& a, const StepKey& b) {
    return std::pair(a.rows, a.query_length) > std::pair(b.rows, b.query_length);
  });
  require_awake();
  WarmUp result;
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t free_before = 0, free_after = 0;
  bool told = bench_.driver.free_memory(free_before) == Status::success;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (progress) progress(i, keys.size(), bucket_name(keys[i]));
    Slot& slot = slots_.try_emplace(keys[i]).first->second;
    if (!slot.exec) {
      slot.eager.clear();
      count_capture(build(keys[i], slot, false), slot);
    }
    if (slot.exec) ++result.ready;
    if (!slot.eager.empty()) result.eager.emplace_back(keys[i], slot.eager);
  }
  result.left_out = keys.size() - result.ready - result.eager.size();
  told = told && bench_.driver.free_memory(free_after) == Status::success;
  if (told && free_after < free_before) result.measured_bytes = free_before - free_after;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (progress) progress(keys.size(), keys.size(), "");
  return result;
}

Served GraphCache::run(const StepKey& key, std::int32_t rows) {
  assert(rows >= 0 && rows <= key.rows);
  require_awake();
  Slot& slot = slots_.try_emplace(key).first->second;
  const ProfilerRange step(bench_.driver, "step", static_cast<std::uint64_t>(rows));
  const ProfilerRange bucket(bench_.driver, "bucket", static_cast<std::uint64_t>(key.rows));
  slot.last_used = ++turn_;
  if (slot.exec) {
    prepare_once(key, slot);
    slot.exec->launch(bench_.stream);
    count_rows(slot, key, rows, true);
    return Served::hit;
  }
  const Served served = serve_missing(key, slot);
  count_rows(slot, key, rows, false);
  return served;
}

Served GraphCache::serve_missing(const StepKey& key, Slot& slot) {
  const std::string absent = slot.absent;
  const Built built = slot.eager.empty() ? build(key, slot, true) : Built::refused;
  if (built == Built::refused) {
    const std::string reason = slot.eager;
    counts_.fallbacks.add(reason);
    options_.on_fallback(key, reason);
    run_eagerly(key, slot);
    return Served::fallback;
  }
  if (built == Built::instantiated)
    counts_.recaptures.add(absent);
  else
    counts_.updates.add(built == Built::updated_stale ? "the leases of its key were replaced"
                                                      : "in place of a graph that was evicted");
  slot.exec->launch(bench_.stream);
  return built == Built::instantiated ? Served::recapture : Served::update;
}

void GraphCache::run_eagerly(const StepKey& key, Slot& slot) {
  prepare_once(key, slot);
  Recorder recorder(bench_.driver, bench_.registry, bench_.stream);
  steps_.record(recorder, key);
}

/// Once in each life of the arena's memory.
void GraphCache::prepare_once(const StepKey& key, Slot& slot) {
  if (slot.prepared_in == bench_.arena.wakes() + 1) return;
  Recorder recorder(bench_.driver, bench_.registry, bench_.stream);
  if (steps_.prepare) steps_.prepare(recorder, key);
  slot.prepared_in = bench_.arena.wakes() + 1;
}

void GraphCache::prepare_again() {
  require_awake();
  for (auto& [key, slot] : slots_)
    if (slot.exec) prepare_once(key, slot);
}

void GraphCache::require_awake() const {
  if (bench_.arena.asleep())
    throw Error(ErrorKind::refused, "running a step", "its arena sleeps and has no memory; wake the arena first", "");
}

void GraphCache::count_capture(Built built, const Slot& slot) {
  switch (built) {
    case Built::instantiated: return counts_.captures.add("instantiated");
    case Built::updated_stale:
    case Built::updated_evicted: return counts_.captures.add("updated in place of a stale graph");
    case Built::left_out: return counts_.captures.add(slot.absent);
    case Built::refused: return counts_.captures.add(slot.eager);
  }
}

void GraphCache::count_rows(Slot& slot, const StepKey& key, std::int32_t rows, bool hit) {
  const auto pads = static_cast<std::uint64_t>(key.rows - rows);
  slot.pad_rows += pads;
  if (!hit) return;
  ++slot.hits;
  if (pads != 0) ++slot.padded_hits;
}

void GraphCache::forget(const StepKey& key) {
  const auto found = slots_.find(key);
  if (found == slots_.end()) return;
  Slot& slot = found->second;
  if (slot.exec) (void)take_exec(slot, "forgotten");
  slot.eager.clear();
}

void GraphCache::add_rows(CacheStats& to, const StepKey& key, const Slot& slot) {
  to.hits.add("exact", slot.hits - slot.padded_hits);
  to.hits.add("padded", slot.padded_hits);
  to.pads.add(bucket_name(key), slot.pad_rows);
}

CacheStats GraphCache::stats() const {
  CacheStats stats = counts_;
  std::vector<const Slots::value_type*> all;
  for (const auto& entry : slots_) all.push_back(&entry);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  for (const auto* entry : all) {
    const auto& [key, slot] = *entry;
    add_rows(stats, key, slot);
    CachedGraph graph{bucket_name(key), to_string(key), slot.exec ? "" : slot.absent, slot.eager};
    graph.hits = slot.hits;
    graph.padded_hits = slot.padded_hits;
    graph.pad_rows = slot.pad_rows;
    if (slot.exec) {
      graph.nodes = slot.nodes;
      graph.bytes = slot.bytes;
      graph.bytes_measured = slot.measured;
      if (!slot.measured) stats.bytes_estimated += slot.bytes;
    }
    stats.graphs.push_back(std::move(graph));
  }
  stats.bytes = bytes_;
  stats.byte_budget = options_.byte_budget;
  return stats;
}

}  // namespace refrain
