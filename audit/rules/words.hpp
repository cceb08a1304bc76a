// What the rules' sentences have in common: how a place, a buffer and a range of
// bytes are named, and the reasons for not checking that several rules give.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// `step decode` for a graph whose capture names a phase, else `graph decode`.
[[nodiscard]] std::string place(const GraphView& view);
/// `step decode, node 2 (grouped_attention) and 3 more, buffer microblocks`; an empty list is left out.
[[nodiscard]] std::string place(const GraphView& view, const std::vector<NodeId>& nodes,
                                const std::vector<std::string>& buffers = {});

/// The buffer's name, or `buffer 7`.
[[nodiscard]] std::string name_of(const Graph& graph, BufferId buffer);
/// The op, or the kernel's name, or the node's kind: a word that stays the same from run to run.
[[nodiscard]] std::string name_of(const Node& node);

/// `bytes [0, 4096)`
[[nodiscard]] std::string bytes_of(ByteRange range);
/// `node 3 (a), node 5 (b) and 7 more`
[[nodiscard]] std::string list_nodes(const Graph& graph, const std::vector<NodeId>& nodes);
/// `a, b and 7 more`
[[nodiscard]] std::string list_names(const std::vector<std::string>& names);

/// A finding of the rule, with the severity that the table gives it; in this graph, where there is one.
[[nodiscard]] Finding new_finding(std::string_view rule, Certainty certainty);
[[nodiscard]] Finding new_finding(std::string_view rule, const GraphView& view, Certainty certainty);

/// False, with the reason reported, when the input holds no graph at all.
[[nodiscard]] bool has_graphs(const SubjectView& view, Report& report, std::string_view rule);

/// False, with `reason` reported, when no input holds a timeline; the reason is also given when only some do.
[[nodiscard]] bool has_timelines(const SubjectView& view, Report& report, std::string_view rule,
                                 std::string_view reason);

/// Reports how many nodes have no contract, if any: the rule saw only the others.
void tell_unknown_nodes(const SubjectView& view, Report& report, std::string_view rule);

/// The nodes of one kind, in id order.
[[nodiscard]] std::vector<NodeId> nodes_of_kind(const Graph& graph, NodeKind kind);

}  // namespace refrain
