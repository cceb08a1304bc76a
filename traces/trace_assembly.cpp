#include "traces/trace_assembly.hpp"

#include <algorithm>

#include "traces/trace_emission.hpp"

namespace refrain {
namespace {

/// A runtime call makes driver calls of its own, which some profilers record as well: one call, of the outer name.
void drop_nested(std::vector<TracedCall>& calls, const std::vector<bool>& is_driver) {
  std::unordered_map<std::uint32_t, TracedCall> outer;  // by thread: its last runtime call
  std::erase_if(calls, [&](const TracedCall& call) {
    if (!is_driver[call.name]) {
      outer[call.thread] = call;
      return false;
    }
    const auto last = outer.find(call.thread);
    return last != outer.end() && call.start_ns < last->second.end_ns && call.end_ns <= last->second.end_ns;
  });
}

void sort_tables(TraceTables& tables) {
  std::stable_sort(tables.calls.begin(), tables.calls.end(), [](const TracedCall& a, const TracedCall& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::vector<bool> is_driver(tables.names.size());
  for (std::size_t i = 0; i < is_driver.size(); ++i) is_driver[i] = is_driver_name(tables.names[i]);
  drop_nested(tables.calls, is_driver);
  std::sort(tables.work_keys.begin(), tables.work_keys.end(), [&](const WorkKey& a, const WorkKey& b) {
    if (a.key != b.key) return a.key < b.key;
    const std::uint64_t start_a = tables.work[a.work].start_ns, start_b = tables.work[b.work].start_ns;
    return start_a != start_b ? start_a < start_b : a.work < b.work;
  });
  std::stable_sort(tables.facts.begin(), tables.facts.end(),
                   [](const CallFacts& a, const CallFacts& b) { return a.key < b.key; });
  std::sort(tables.made.begin(), tables.made.end(), [](const MadeExec& a, const MadeExec& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.time_ns < b.time_ns;
  });
  std::sort(tables.null_streams.begin(), tables.null_streams.end());
}

std::uint64_t first_time(const TraceTables& tables) {
  std::uint64_t first = ~std::uint64_t{0};
  for (const TracedCall& call : tables.calls) first = std::min(first, call.start_ns);
  for (const WorkEvent& work : tables.work) first = std::min(first, work.start_ns);
  for (const TracedRange& range : tables.ranges) first = std::min(first, range.start_ns);
  return first;
}

}  // namespace

TraceAssembly::TraceAssembly() {
  (void)name("");
}

std::uint32_t TraceAssembly::name(std::string_view text) {
  if (const auto known = name_ids_.find(text); known != name_ids_.end()) return known->second;
  const auto fresh = static_cast<std::uint32_t>(tables_.names.size());
  name_ids_.emplace(text, fresh);
  tables_.names.emplace_back(text);
  return fresh;
}

std::uint32_t TraceAssembly::process(std::uint64_t pid) {
  return processes_.try_emplace(pid, static_cast<std::uint32_t>(processes_.size() + 1)).first->second;
}

std::uint32_t TraceAssembly::thread(std::uint64_t pid, std::uint64_t tid) {
  return threads_.try_emplace({pid, tid}, static_cast<std::uint32_t>(threads_.size() + 1)).first->second;
}

void TraceAssembly::call(const TracedCall& call) {
  if (known_.size() <= call.name) known_.resize(tables_.names.size(), 0);
  std::int8_t& known = known_[call.name];
  if (known == 0) known = find_api(tables_.names[call.name]) ? 1 : -1;
  if (known > 0)
    tables_.calls.push_back(call);
  else if (tables_.names[call.name] == "INVALID" || tables_.names[call.name].empty())
    ++unnamed_;
}

void TraceAssembly::emit(RecordSink& sink, bool from_first) {
  if (from_first) tables_.origin_ns = first_time(tables_);
  sort_tables(tables_);
  emit_tables(tables_, sink);
  tables_ = {};  // the sink's end may need room to sort
  if (unnamed_ > 0)
    sink.limit({"unnamed-calls", "the profiler could not name these calls: what they did is not known", unnamed_});
}

}  // namespace refrain
