#include "audit/rules/need_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/fact_mask.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

const char* gives_word(Fact fact) noexcept {
  switch (fact) {
    case Fact::zeroed: return "zeroes";
    case Fact::pad_fixed: return "pad-fixes";
    case Fact::written: return "writes";
    case Fact::finite: return "makes finite";
  }
  return "gives";
}

const char* consequence(Fact fact) noexcept {
  switch (fact) {
    case Fact::zeroed: return "a replay then starts from what the last one left there";
    case Fact::pad_fixed:
      return "padding entries then name the null block, and a NaN there reaches real rows (P = 0, but 0 x NaN is NaN)";
    case Fact::written: return "it then reads whatever lay there before";
    case Fact::finite: return "a NaN or Inf there then reaches the result";
  }
  return "";
}

std::string node(const Graph& graph, std::optional<NodeId> id) {
  return id ? describe(graph, *id) : "no node";
}

// The first to the last byte on which a node establishes the fact.
ByteRange given_range(const Graph& graph, NodeId giver, Fact fact, BufferId buffer) {
  ByteRange hull{~std::uint64_t{0}, 0};
  const auto add = [&](ByteRange range) { hull = {std::min(hull.begin, range.begin), std::max(hull.end, range.end)}; };
  for (const NodeClaim& claim : graph.nodes[giver].gives)
    if (claim.buffer == buffer && (closure(claim.fact) & bit(fact))) add(claim.range);
  for (const NodeAccess& access : graph.nodes[giver].accesses)
    if (fact == Fact::written && access.buffer == buffer && writes_all(access.mode, access.reach)) add(access.range);
  return hull;
}

std::string wanted(const Graph& graph, const Failure& failure) {
  const std::string who = describe(graph, failure.node), what = name_of(graph, failure.buffer);
  if (failure.fact == Fact::written) return fmt::format("{} reads {} of {}", who, bytes_of(failure.broken), what);
  return fmt::format("{} needs {} of {} {}", who, bytes_of(failure.broken), what, state_word(failure.fact));
}

std::string unordered_message(const Graph& graph, const Failure& failure, const std::string& need) {
  const Fact fact = failure.fact;
  if (failure.late)
    return fmt::format("{}, and {} {} it only after that; {}", need, node(graph, failure.giver), gives_word(fact),
                       consequence(fact));
  if (failure.giver && failure.destroyer)
    return fmt::format("{}: {} {} it, but {} writes there too, with no order between that and the others; {}", need,
                       node(graph, failure.giver), gives_word(fact), node(graph, failure.destroyer), consequence(fact));
  if (failure.destroyer)
    return fmt::format("{}, and {} writes there with no order between the two; {}", need,
                       node(graph, failure.destroyer), consequence(fact));
  return fmt::format("{}, and {} {} it, but is not ordered before it: nothing makes the consumer wait; {}", need,
                     node(graph, failure.giver), gives_word(fact), consequence(fact));
}

std::string entry_message(const Graph& graph, const Failure& failure, const std::string& need) {
  const EntryFact& entry = graph.entry[*failure.entry];
  const std::string by = entry.by.empty() ? "" : fmt::format(" (by {})", entry.by);
  if (entry.origin == Origin::host_each_launch)
    return fmt::format("{}: it is so when a replay begins{}, but {} writes over it first; {}", need, by,
                       node(graph, failure.destroyer), consequence(failure.fact));
  if (!failure.destroyer)
    return fmt::format(
        "{}: it is so before the first replay only{}, the memory is shared with graphs that run between two replays, "
        "and "
        "no node makes it {} in this one; {}",
        need, by, state_word(failure.fact), consequence(failure.fact));
  return fmt::format(
      "{}: it is so before the first replay only{}, {} writes over it in every replay and no node makes it "
      "{} again; {}",
      need, by, node(graph, failure.destroyer), state_word(failure.fact), consequence(failure.fact));
}

}  // namespace

const char* state_word(Fact fact) noexcept {
  switch (fact) {
    case Fact::zeroed: return "zeroed";
    case Fact::pad_fixed: return "pad-fixed";
    case Fact::written: return "written";
    case Fact::finite: return "finite";
  }
  return "unknown";
}

std::string need_message(const Graph& graph, const Failure& failure) {
  const std::string need = wanted(graph, failure);
  const Fact fact = failure.fact;
  switch (failure.kind) {
    case FailureKind::unordered: return unordered_message(graph, failure, need);
    case FailureKind::entry_lost: return entry_message(graph, failure, need);
    case FailureKind::short_:
      return fmt::format("{}, but no node before it {} them: {} {} {} only; {}", need, gives_word(fact),
                         node(graph, failure.giver), gives_word(fact),
                         bytes_of(given_range(graph, *failure.giver, fact, failure.buffer)), consequence(fact));
    case FailureKind::destroyed:
      return fmt::format("{}: {} {} it, but {} writes over it in between; {}", need, node(graph, failure.giver),
                         gives_word(fact), node(graph, failure.destroyer), consequence(fact));
    case FailureKind::missing: break;
  }
  return fmt::format("{}, and no node before it {} them; {}", need, gives_word(fact), consequence(fact));
}

std::vector<std::string> need_evidence(const Graph& graph, const Failure& failure) {
  std::vector<std::string> lines;
  if (!(failure.needed == failure.broken))
    lines.push_back(
        fmt::format("the whole need is {} of {}", bytes_of(failure.needed), name_of(graph, failure.buffer)));
  if (failure.entry) {
    const EntryFact& entry = graph.entry[*failure.entry];
    lines.push_back(fmt::format("entry fact: {} of {} {}, origin {}{}", bytes_of(entry.range),
                                name_of(graph, entry.buffer), state_word(entry.fact), to_string(entry.origin),
                                graph.buffers[entry.buffer].shared ? ", in shared memory" : ""));
  }
  if (failure.kind == FailureKind::missing && failure.destroyer)
    lines.push_back(fmt::format("{} is the last to write there", node(graph, failure.destroyer)));
  return lines;
}

std::string need_fix(const Graph& graph, const Failure& failure) {
  const std::string consumer = describe(graph, failure.node), what = name_of(graph, failure.buffer);
  if (failure.kind == FailureKind::unordered && failure.destroyer && !failure.late)
    return fmt::format(
        "order {} against {}: launch both on one stream, or record an event after the one that comes first "
        "and let the other wait for it",
        describe(graph, *failure.destroyer), consumer);
  if (failure.kind == FailureKind::unordered)
    return fmt::format(
        "let {} run before {}: launch them in that order on one stream, or record an event after it and let "
        "the consumer's stream wait for it",
        node(graph, failure.giver), consumer);
  switch (failure.fact) {
    case Fact::zeroed:
      return fmt::format(
          "zero {} of {} inside the captured region, before {}, in every replay: in the kernel that plans, or "
          "with cudaMemsetAsync on the capturing stream",
          bytes_of(failure.needed), what, consumer);
    case Fact::pad_fixed:
      return fmt::format(
          "let the planner fix {} of {} itself (plan_grouped: fix_padding = true), or launch pad_fix over them after "
          "the planner and before {}, on the capturing stream",
          bytes_of(failure.needed), what, consumer);
    case Fact::finite:
      return fmt::format("fill {} of {} with finite values before {}", bytes_of(failure.needed), what, consumer);
    case Fact::written: break;
  }
  return fmt::format(
      "write all of {} of {} before {}, in the graph; or, if the host or an earlier run does, declare it as an "
      "entry fact",
      bytes_of(failure.needed), what, consumer);
}

}  // namespace refrain
