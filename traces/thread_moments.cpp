#include "traces/thread_moments.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "traces/call_kinds.hpp"

namespace refrain {
namespace {

std::optional<Moment::Kind> kind_of(const ApiEvent& call) {
  if (call.api == Api::begin_capture || call.api == Api::graph_instantiate) return Moment::Kind::barrier;
  if (call.code != 0) return std::nullopt;
  if (is_sync(call.api) && !is_query(call.api)) return Moment::Kind::wait;
  if (!submits_work(call.api) || !ran_at_once(call)) return std::nullopt;
  return call.api == Api::graph_launch ? Moment::Kind::replay : Moment::Kind::work;
}

}  // namespace

std::vector<ThreadMoments> moments_of(const Timeline& timeline) {
  std::map<std::uint32_t, std::size_t> submitted;
  for (const ApiEvent& call : timeline.calls)
    if (const auto kind = kind_of(call); kind == Moment::Kind::work || kind == Moment::Kind::replay)
      ++submitted[call.thread];
  std::size_t most = 0;
  for (const auto& [thread, count] : submitted) most = std::max(most, count);
  std::vector<ThreadMoments> threads;
  std::map<std::uint32_t, std::size_t> place;
  for (const auto& [thread, count] : submitted) {
    if (2 * count < most) continue;
    place[thread] = threads.size();
    threads.push_back({thread, {}});
  }
  for (std::size_t i = 0; i < timeline.calls.size(); ++i) {
    const auto at = place.find(timeline.calls[i].thread);
    if (at == place.end()) continue;
    if (const auto kind = kind_of(timeline.calls[i]))
      threads[at->second].moments.push_back({static_cast<std::uint32_t>(i), *kind});
  }
  return threads;
}

}  // namespace refrain
