#include "audit/rules/padding.hpp"

#include <algorithm>

#include "audit/fact_mask.hpp"
#include "audit/range_set.hpp"

namespace refrain {
namespace {

/// What the nodes of a graph do to one buffer.
struct Touches {
  RangeSet exact, any;  ///< written for sure; accessed at all
  std::vector<NodeId> writers;
};

std::vector<Touches> touches_of(const Graph& graph, const std::vector<bool>& wanted) {
  std::vector<Touches> touches(graph.buffers.size());
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    for (const NodeAccess& access : graph.nodes[node].accesses) {
      if (!wanted[access.buffer]) continue;
      Touches& buffer = touches[access.buffer];
      buffer.any.add(access.range);
      if (access.mode == Mode::read || access.range.empty()) continue;
      if (access.reach == Reach::exact) buffer.exact.add(access.range);
      if (buffer.writers.empty() || buffer.writers.back() != node) buffer.writers.push_back(node);
    }
  return touches;
}

std::vector<bool> with_role(const Graph& graph, Role role) {
  const auto roles = roles_of(graph);
  std::vector<bool> wanted(roles.size());
  for (std::size_t i = 0; i < roles.size(); ++i) wanted[i] = roles[i] == role;
  return wanted;
}

/// Bytes of `buffer` that other graphs of the recording write: they share it, and theirs is a larger bucket.
RangeSet written_elsewhere(const GraphView& view, const Buffer& buffer) {
  RangeSet written;
  if (buffer.base == 0) return written;
  for (const Graph& other : view.recording().graphs) {
    if (&other == &view.graph()) continue;
    for (const Node& node : other.nodes)
      for (const NodeAccess& access : node.accesses) {
        const Buffer& same = other.buffers[access.buffer];
        if (writes_all(access.mode, access.reach) && same.base == buffer.base && same.bytes == buffer.bytes)
          written.add(access.range);
      }
  }
  return written;
}

std::vector<ByteRange> missing_rows(const GraphView& view, const Buffer& buffer, const Touches& touches) {
  std::vector<ByteRange> missing = touches.exact.missing_from({0, buffer.bytes});
  const auto untouched = [&](const ByteRange& range) { return !touches.any.overlaps(range); };
  // A part is cut where another access begins or ends: an untouched tail stands alone.
  std::vector<ByteRange> parts;
  for (const ByteRange& range : missing) {
    ByteRange rest = range;
    for (const ByteRange& own : touches.any.ranges())
      for (const std::uint64_t end : {own.begin, own.end})
        if (rest.begin < end && end < rest.end) {
          parts.push_back({rest.begin, end});
          rest.begin = end;
        }
    parts.push_back(rest);
  }
  if (std::none_of(parts.begin(), parts.end(), untouched)) return missing;
  const RangeSet elsewhere = written_elsewhere(view, buffer);
  RangeSet left;
  for (const ByteRange& part : parts)
    if (!untouched(part) || !elsewhere.covers(part)) left.add(part);
  return left.ranges();
}

std::vector<NodeId> readers_of(const Graph& graph, BufferId buffer, const std::vector<ByteRange>& ranges) {
  std::vector<NodeId> readers;
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    for (const NodeAccess& access : graph.nodes[node].accesses)
      if (access.buffer == buffer && reads(access.mode) &&
          std::any_of(ranges.begin(), ranges.end(), [&](const ByteRange& r) { return r.overlaps(access.range); })) {
        readers.push_back(node);
        break;
      }
  return readers;
}

/// The host's writes and the nodes' exact ones to the inputs of a graph.
class Inputs {
 public:
  explicit Inputs(const GraphView& view)
      : view_(view), graph_(view.graph()), wanted_(with_role(graph_, Role::input)), host_(graph_.buffers.size()) {
    for (const EntryFact& entry : graph_.entry)
      if (entry.origin == Origin::host_each_launch && (closure(entry.fact) & bit(Fact::written)))
        host_[entry.buffer].add(entry.range);
    writers_.resize(graph_.buffers.size());
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      for (const NodeAccess& access : graph_.nodes[node].accesses)
        if (wanted_[access.buffer] && writes_all(access.mode, access.reach))
          writers_[access.buffer].push_back({node, access.range});
  }

  [[nodiscard]] bool is_refreshed(BufferId buffer) const { return wanted_[buffer] && !host_[buffer].empty(); }
  [[nodiscard]] const RangeSet& refreshed(BufferId buffer) const { return host_[buffer]; }

  /// The bytes of a read that neither the host nor a node before it wrote for this replay.
  [[nodiscard]] std::vector<ByteRange> stale(NodeId node, const NodeAccess& access) const {
    const std::uint64_t bytes = graph_.buffers[access.buffer].bytes;
    ByteRange range = access.range;
    if (bytes > 0) range.end = std::min(range.end, bytes);
    if (host_[access.buffer].covers(range) || !host_[access.buffer].overlaps(range)) return {};
    RangeSet fresh = host_[access.buffer];
    for (const auto& [writer, written] : writers_[access.buffer])
      if (view_.topology().before(writer, node)) fresh.add(written);
    return fresh.missing_from(range);
  }

  /// A node without a contract that may have written before `node`.
  [[nodiscard]] bool in_doubt(NodeId node) const {
    const auto& unknown = view_.facts().unknown;
    return std::any_of(unknown.begin(), unknown.end(),
                       [&](NodeId other) { return view_.topology().before(other, node); });
  }

 private:
  const GraphView& view_;
  const Graph& graph_;
  std::vector<bool> wanted_;
  std::vector<RangeSet> host_;
  std::vector<std::vector<std::pair<NodeId, ByteRange>>> writers_;
};

/// A node writes there for this replay, at the wrong time: rule 306 says so.
bool is_untimely(const GraphView& view, NodeId node, BufferId buffer) {
  const auto& failures = view.facts().failures;
  return std::any_of(failures.begin(), failures.end(), [&](const Failure& failure) {
    return failure.node == node && failure.buffer == buffer && failure.kind == FailureKind::unordered;
  });
}

std::string origin_of(const Graph& graph, BufferId buffer, const std::vector<ByteRange>& stale) {
  for (const EntryFact& entry : graph.entry)
    if (entry.buffer == buffer && entry.origin != Origin::host_each_launch && entry.range.overlaps(hull(stale)))
      return entry.by.empty() ? std::string("what was written once") : entry.by;
  return {};
}

}  // namespace

std::vector<Role> roles_of(const Graph& graph) {
  std::vector<Role> roles;
  for (const Buffer& buffer : graph.buffers) roles.push_back(buffer.role);
  for (const Node& node : graph.nodes)
    for (const NodeAccess& access : node.accesses)
      if (roles[access.buffer] == Role::unknown) roles[access.buffer] = access.role;
  return roles;
}

std::vector<UnwrittenRows> unwritten_rows(const GraphView& view) {
  std::vector<UnwrittenRows> all;
  const Graph& graph = view.graph();
  const std::vector<bool> outputs = with_role(graph, Role::output);
  if (view.parent() || std::none_of(outputs.begin(), outputs.end(), [](bool is) { return is; })) return all;
  if (!view.facts().unknown.empty()) return all;
  auto touches = touches_of(graph, outputs);
  for (BufferId buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    Touches& of_buffer = touches[buffer];
    if (of_buffer.writers.empty() || graph.buffers[buffer].bytes == 0) continue;
    auto missing = missing_rows(view, graph.buffers[buffer], of_buffer);
    if (missing.empty()) continue;
    auto readers = readers_of(graph, buffer, missing);
    all.push_back({buffer, std::move(missing), std::move(of_buffer.writers), std::move(readers)});
  }
  return all;
}

std::vector<StaleInput> stale_inputs(const GraphView& view) {
  const Graph& graph = view.graph();
  std::vector<StaleInput> all;
  const Inputs inputs(view);
  std::vector<RangeSet> stale(graph.buffers.size());
  std::vector<std::vector<NodeId>> readers(graph.buffers.size());
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    for (const NodeAccess& access : graph.nodes[node].accesses) {
      if (!reads(access.mode) || !inputs.is_refreshed(access.buffer)) continue;
      const auto parts = inputs.stale(node, access);
      if (parts.empty() || inputs.in_doubt(node) || is_untimely(view, node, access.buffer)) continue;
      for (const ByteRange& part : parts) stale[access.buffer].add(part);
      auto& of_buffer = readers[access.buffer];
      if (of_buffer.empty() || of_buffer.back() != node) of_buffer.push_back(node);
    }
  for (BufferId buffer = 0; buffer < graph.buffers.size(); ++buffer)
    if (!readers[buffer].empty())
      all.push_back({buffer, inputs.refreshed(buffer).ranges(), stale[buffer].ranges(), std::move(readers[buffer]),
                     origin_of(graph, buffer, stale[buffer].ranges())});
  return all;
}

bool is_padding_fault(const GraphView& view, const Failure& failure) {
  if (failure.fact != Fact::written || failure.kind == FailureKind::unordered) return false;
  const auto within = [&](const std::vector<ByteRange>& ranges) {
    RangeSet set;
    for (const ByteRange& range : ranges) set.add(range);
    return set.covers(failure.broken);
  };
  const Role role = roles_of(view.graph())[failure.buffer];
  if (role == Role::output) {
    for (const UnwrittenRows& rows : unwritten_rows(view))
      if (rows.buffer == failure.buffer && within(rows.missing)) return true;
  }
  if (role == Role::input) {
    for (const StaleInput& input : stale_inputs(view))
      if (input.buffer == failure.buffer && within(input.stale)) return true;
  }
  return false;
}

}  // namespace refrain
