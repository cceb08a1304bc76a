#include "audit/rules/buffer_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace refrain {
namespace {

bool holds(const Buffer& buffer, Address address) {
  return buffer.base != 0 && buffer.base <= address && address - buffer.base < buffer.bytes;
}

/// A lease of the program's, cut out of what the driver gave it.
bool is_lease(const Buffer& buffer) {
  return buffer.allocation != 0 && !is_driver_allocation(buffer.allocation);
}

/// Of two that overlap, one is the ground, or a part of it, that the other was cut out of: neither keeps the other
/// alive.
bool is_cut_out(const Buffer& lease, const Buffer& ground) {
  return is_lease(lease) && is_driver_allocation(ground.allocation) &&
         (!lease.born || !ground.born || *ground.born <= *lease.born);
}

bool overlap(const Buffer& a, const Buffer& b) {
  return a.base != 0 && b.base != 0 && a.base < b.base + b.bytes && b.base < a.base + a.bytes;
}

}  // namespace

BufferHistory::BufferHistory(const GraphView& view, const GraphLife* life)
    : graph_(view.graph()), life_(life), buffers_(view.graph().buffers), named_(view.graph().buffers.size(), false) {
  if (life_ != nullptr) add_timeline(view.recording().timeline);
  for (const Node& node : graph_.nodes) {
    for (const NodeAccess& access : node.accesses) named_[access.buffer] = true;
    if (node.kind == NodeKind::mem_alloc && node.allocation) own_.push_back(*node.allocation);
  }
  named_.resize(buffers_.size(), false);
  index();
}

/// The graph saw its buffers at capture time; the timeline saw them to the end.
void BufferHistory::add_timeline(const Timeline& timeline) {
  std::unordered_map<std::uint64_t, HistoryId> by_allocation, by_base;
  for (HistoryId id = 0; id < graph_.buffers.size(); ++id) {
    const Buffer& buffer = graph_.buffers[id];
    if (buffer.allocation != 0) by_allocation.emplace(buffer.allocation, id);
    if (buffer.base != 0) by_base.emplace(buffer.base, id);
  }
  for (const BufferEvent& event : timeline.buffers) {
    auto known = by_allocation.find(event.buffer.allocation);
    bool same = known != by_allocation.end();
    if (!same && was_there_at_capture(event.buffer)) {
      known = by_base.find(event.buffer.base);
      same = known != by_base.end() && (event.buffer.allocation == 0 || graph_.buffers[known->second].allocation == 0);
    }
    if (!same) {
      buffers_.push_back(event.buffer);
      continue;
    }
    Buffer& buffer = buffers_[known->second];
    if (event.buffer.born) buffer.born = event.buffer.born;
    if (event.buffer.died) buffer.died = event.buffer.died;
  }
}

void BufferHistory::index() {
  for (HistoryId id = 0; id < buffers_.size(); ++id) {
    const Buffer& buffer = buffers_[id];
    if (!buffer.died || (id >= graph_.buffers.size() && !was_there_at_capture(buffer))) continue;
    if (life_ != nullptr && !run_after(*life_, *buffer.died).matters()) continue;
    dead_.push_back(id);
    if (life_ == nullptr || was_there_at_capture(buffer)) addresses_.add(buffer.base, buffer.base + buffer.bytes, id);
  }
  later_.resize(buffers_.size());
  for (const HistoryId dead : dead_)
    for (HistoryId other = 0; other < buffers_.size(); ++other)
      if (other != dead && overlap(buffers_[dead], buffers_[other])) later_[dead].push_back(other);
}

bool BufferHistory::is_known() const {
  return std::any_of(buffers_.begin(), buffers_.end(), [](const Buffer& b) { return b.born || b.died; });
}

std::string BufferHistory::name(HistoryId id) const {
  return buffers_[id].name.empty() ? fmt::format("buffer {}", id) : buffers_[id].name;
}

std::optional<RunAfter> BufferHistory::replays_after(HistoryId dead) const {
  if (life_ == nullptr) return std::nullopt;
  return run_after(*life_, *buffers_[dead].died);
}

std::optional<DeadEnd> BufferHistory::of_access(const NodeAccess& access) const {
  if (!std::binary_search(dead_.begin(), dead_.end(), access.buffer)) return std::nullopt;
  return dead_end(access.buffer, buffers_[access.buffer].base + access.range.begin);
}

std::optional<DeadEnd> BufferHistory::of_address(Address address) const {
  const auto dead = last_dead_at(address);
  if (!dead || is_own(address)) return std::nullopt;
  const auto end = dead_end(*dead, address);
  if (end && end->tenant && named_[*end->tenant]) return std::nullopt;
  return end;
}

/// A pointer that was captured can only mean a buffer that lived while it was.
bool BufferHistory::was_there_at_capture(const Buffer& buffer) const {
  if (buffer.born && *buffer.born > life_->captured) return false;
  return !buffer.died || *buffer.died > life_->begun.value_or(life_->captured);
}

std::optional<HistoryId> BufferHistory::last_dead_at(Address address) const {
  std::optional<HistoryId> last;
  addresses_.each(address, address + 1, [&](HistoryId id) {
    if (!last || *buffers_[*last].died < *buffers_[id].died) last = id;
  });
  return last;
}

/// Nothing when the address was backed all along: by a buffer that is not known to be younger than the death.
std::optional<DeadEnd> BufferHistory::dead_end(HistoryId dead, Address address) const {
  const Buffer& old = buffers_[dead];
  DeadEnd end{dead, std::nullopt, address - old.base};
  const RunAfter after = life_ == nullptr ? RunAfter{} : run_after(*life_, *old.died);
  for (const HistoryId id : later_[dead]) {
    const Buffer& now = buffers_[id];
    if (!holds(now, address) || is_cut_out(old, now)) continue;
    if (is_cut_out(now, old) && (!now.born || *now.born < *old.died)) continue;
    if (!now.died) {
      const bool same = old.allocation != 0 && old.allocation == now.allocation;
      if (same || !now.born || *now.born < *old.died) return std::nullopt;
    }
    if (!now.born || *now.born < *old.died) continue;
    if (!end.tenant && was_met(now, after)) end.tenant = id;
  }
  return end;
}

/// A replay met the tenant if it lived then; where none came yet, the next one meets who lives now.
bool BufferHistory::was_met(const Buffer& tenant, const RunAfter& after) const {
  if (life_ == nullptr || after.launches == 0) return !tenant.died;
  for (const ExecLife& exec : life_->execs) {
    const auto first =
        std::upper_bound(exec.launches.begin(), exec.launches.end(), *tenant.born,
                         [](std::uint64_t sequence, const ApiEvent* launch) { return sequence < launch->sequence; });
    if (first != exec.launches.end() && (!tenant.died || (*first)->sequence < *tenant.died)) return true;
  }
  return false;
}

/// Memory that the graph allocates itself is alive while it runs.
bool BufferHistory::is_own(Address address) const {
  return std::any_of(own_.begin(), own_.end(), [&](const AllocationInfo& own) {
    return own.address != 0 && own.address <= address && address - own.address < own.bytes;
  });
}

}  // namespace refrain
