#include "audit/cupti/join_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace refrain {
namespace {

bool differ(const std::string& said, const std::string& seen) {
  return !said.empty() && !seen.empty() && said != seen;
}

std::string mismatch(const Graph& seen, const Graph& described) {
  if (seen.nodes.size() != described.nodes.size())
    return fmt::format("expected its {} nodes in the order of cudaGraphGetNodes, found {}", seen.nodes.size(),
                       described.nodes.size());
  for (NodeId id = 0; id < seen.nodes.size(); ++id) {
    const Node &node = seen.nodes[id], &said = described.nodes[id];
    if (node.kind != said.kind)
      return fmt::format("expected a {} as node {}, found a {}", to_string(node.kind), id, to_string(said.kind));
    if (differ(said.mangled, node.mangled))
      return fmt::format("expected {} as node {}, found {}", node.mangled, id, said.mangled);
    if (said.bodies.empty()) continue;
    if (said.bodies.size() != node.bodies.size())
      return fmt::format("expected {} bodies of node {}, found {}", node.bodies.size(), id, said.bodies.size());
    for (std::size_t body = 0; body < node.bodies.size(); ++body)
      if (std::string why = mismatch(node.bodies[body], said.bodies[body]); !why.empty()) return why;
  }
  return {};
}

bool overlap(const Buffer& a, const Buffer& b) {
  return a.base < b.base + b.bytes && b.base < a.base + a.bytes;
}

/// What the maker calls its own is no part of a larger allocation any more, however the driver has it.
void join_buffers(std::vector<Buffer>& seen, std::vector<Buffer>&& described) {
  std::vector<Buffer> out = std::move(described);
  const std::size_t own = out.size();
  for (Buffer& buffer : seen)
    if (std::none_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(own),
                     [&](const Buffer& b) { return overlap(b, buffer); }))
      out.push_back(std::move(buffer));
  seen = std::move(out);
}

void join_node(Node& seen, Node&& said) {
  seen.op = std::move(said.op);
  seen.has_contract = said.has_contract;
  seen.accesses = std::move(said.accesses);
  seen.needs = std::move(said.needs);
  seen.gives = std::move(said.gives);
  seen.waits = said.waits;
  seen.triggers = said.triggers;
  seen.triggers_first = said.triggers_first;
  if (said.has_contract && !said.params.empty()) seen.params = std::move(said.params);
  if (!said.scope.empty()) seen.scope = std::move(said.scope);
  if (!said.call_site.empty()) seen.call_site = std::move(said.call_site);
}

void join_text(std::string& seen, std::string&& said) {
  if (!said.empty()) seen = std::move(said);
}

void join(Graph& seen, Graph&& described) {
  join_text(seen.name, std::move(described.name));
  join_text(seen.capture.phase, std::move(described.capture.phase));
  join_text(seen.capture.bucket, std::move(described.capture.bucket));
  join_text(seen.capture.mode, std::move(described.capture.mode));
  join_text(seen.capture.device, std::move(described.capture.device));
  join_text(seen.capture.driver, std::move(described.capture.driver));
  join_text(seen.capture.toolkit, std::move(described.capture.toolkit));
  join_buffers(seen.buffers, std::move(described.buffers));
  for (NodeId id = 0; id < seen.nodes.size(); ++id) {
    Node& said = described.nodes[id];
    for (std::size_t body = 0; body < said.bodies.size(); ++body)
      join(seen.nodes[id].bodies[body], std::move(said.bodies[body]));
    join_node(seen.nodes[id], std::move(said));
  }
  seen.entry = std::move(described.entry);
}

}  // namespace

std::string join_description(Graph& seen, Graph&& described) {
  std::string why = mismatch(seen, described);
  if (!why.empty()) return why;
  join(seen, std::move(described));
  attach_known_accesses(seen);  // of copies and fills that were not described, over the buffers that are there now
  return {};
}

}  // namespace refrain
