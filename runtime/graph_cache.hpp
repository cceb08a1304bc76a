// The captured graphs of a server, found by everything that is baked into them. A warm-up
// captures the buckets of a policy, largest first; run() launches the graph of a key, or
// captures it where it is missing, or runs the step eagerly where no graph is to be had,
// and then says so each time. Only graphs without an error in their audit are admitted.
// Invariant: a graph exec that the cache holds keeps the leases that it names.
//
// One thread, the one that owns the stream: no call may overlap another, and nothing else
// captures on that stream. Where an exec goes or gets other nodes, the stream is waited for
// first; a hit makes no other call than the launch. That memory of others is freed under a
// graph is not noticed here: that is for a PointerWatch. After the arena slept, each key is
// prepared again before its graph runs (prepare_again() does it for all).
#pragma once

#include <limits>
#include <unordered_map>
#include <utility>

#include "runtime/buckets.hpp"
#include "runtime/cache_stats.hpp"
#include "runtime/judged_capture.hpp"
#include "runtime/progress.hpp"

namespace refrain {

/// Device memory of an instantiated graph, a node: 50 graphs of 1,000 kernel nodes took 100 MiB of an H200.
inline constexpr std::uint64_t kGraphBytesPerNode = 2100;

struct CacheOptions {
  /// Driver memory of all graphs together; the arena's is not counted, for leases are shared.
  std::uint64_t byte_budget = std::numeric_limits<std::uint64_t>::max();
  CaptureMode mode = CaptureMode::global;
  /// Called before each eager run with its reason; required, because a fallback is never silent.
  std::function<void(const StepKey& key, const std::string& reason)> on_fallback;
};

/// How a lookup was served; CacheStats has the counters.
enum class Served : std::uint8_t { hit, update, recapture, fallback };
[[nodiscard]] const char* to_string(Served) noexcept;

struct WarmUp {
  std::size_t ready = 0;     ///< keys that have a graph now
  std::size_t left_out = 0;  ///< admitted, but over the byte budget: captured when they are first run
  std::vector<std::pair<StepKey, std::string>> eager;  ///< keys that have none, each with its first violation
  double seconds = 0;
  std::uint64_t measured_bytes = 0;  ///< of free device memory that went meanwhile; 0 = not to be told
};

class GraphCache {
 public:
  /// Throws Error{usage} without `steps.record` or `options.on_fallback`.
  GraphCache(const CaptureBench& bench, StepRecorder steps, CacheOptions options);
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;
  /// Waits for the stream, so that no graph goes while it runs.
  ~GraphCache();

  /// Captures, audits, instantiates and uploads every key that has no graph, most rows first; those marked eager are
  /// tried again. Evicts nothing. A key that fails is marked eager and the others go on; throws what the step throws
  /// beside Error{driver}, and Error{refused} while the arena sleeps.
  WarmUp warm_up(std::vector<StepKey> keys, const Progress& progress = {});
  /// Of every size of the policy.
  WarmUp warm_up(const BucketPolicy& policy, const std::function<StepKey(std::int32_t size)>& key_for,
                 const Progress& progress = {});

  /// Enqueues the step of `key` on the stream, of whose rows the first `rows` are real. Throws Error{driver} when a
  /// launch or an eager run failed, and Error{refused} while the arena sleeps; the cache is as usable as before.
  Served run(const StepKey& key, std::int32_t rows);

  /// After Arena::wake(): prepares every key that has a graph, so that its next hit makes no call but the launch. What
  /// run() would otherwise do at each key's first hit. Throws Error{driver}; then it may be called again.
  void prepare_again();

  /// Drops the key's graph and the mark that it runs eagerly: the next run captures it anew. Throws Error{driver}.
  void forget(const StepKey& key);

  [[nodiscard]] CacheStats stats() const;

 private:
  struct Slot {
    std::optional<GraphExec> exec;
    std::string absent = "not captured before", eager;  // as in CachedGraph
    std::uint64_t prepared_in = 0;  // 1 + Arena::wakes() when StepRecorder::prepare went through; 0 = never
    std::uint64_t structure = 0, nodes = 0, bytes = 0, last_used = 0;
    bool measured = false;
    std::uint64_t hits = 0, padded_hits = 0, pad_rows = 0;
  };
  using Slots = std::unordered_map<StepKey, Slot, StepKeyHash>;
  enum class Built : std::uint8_t { instantiated, updated_stale, updated_evicted, left_out, refused };

  Built build(const StepKey& key, Slot& slot, bool may_evict);
  Built admit(const StepKey& key, Slot& slot, const Captured& captured, bool may_evict);
  Built refuse(Slot& slot, std::string reason);
  std::optional<GraphExec> drop_stale_twins(const StepKey& key, std::uint64_t structure);
  std::optional<GraphExec> make_room(std::uint64_t bytes, std::uint64_t structure);
  std::optional<GraphExec> take_exec(Slot& slot, std::string why);
  void instantiate(Slot& slot, const Captured& captured);
  void require_awake() const;
  void prepare_once(const StepKey& key, Slot& slot);
  Served serve_missing(const StepKey& key, Slot& slot);
  void run_eagerly(const StepKey& key, Slot& slot);
  void count_capture(Built built, const Slot& slot);
  void count_rows(Slot& slot, const StepKey& key, std::int32_t rows, bool hit);
  static void add_rows(CacheStats& to, const StepKey& key, const Slot& slot);

  CaptureBench bench_;
  StepRecorder steps_;
  CacheOptions options_;
  Slots slots_;
  CacheStats counts_;  // counters alone: hits and pads here are those of slots that are gone
  std::uint64_t bytes_ = 0, turn_ = 0;
};

}  // namespace refrain
