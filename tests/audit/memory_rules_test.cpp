// Rules 201, 203, 206 and 208: near misses that no good file can hold, because an
// allocation node is a finding of rule 202 by itself.
#include <set>

#include "audit/audit.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr Address kAddress = 0x302000000;

Node memory(NodeKind kind, Address address, std::uint64_t bytes = 0) {
  Node node;
  node.kind = kind;
  node.allocation = AllocationInfo{address, bytes};
  return node;
}
Node alloc(Address address = kAddress) {
  return memory(NodeKind::mem_alloc, address, 4096);
}
Node gives_back(Address address = kAddress) {
  return memory(NodeKind::mem_free, address);
}
Node fills(Address address) {
  Node node = op("fill");
  node.kind = NodeKind::memset;
  node.fill = FillInfo{address, 64, 1, 1};
  return node;
}

std::set<std::string> rules_of(const Report& report) {
  std::set<std::string> ids;
  for (const Finding& finding : report.findings())
    if (finding.rule != "RF202") ids.insert(finding.rule);
  return ids;
}

using Ids = std::set<std::string>;

ApiEvent event(std::uint64_t sequence, Api api, std::uint64_t object = 0, std::uint64_t made = 0) {
  ApiEvent call;
  call.sequence = sequence;
  call.thread = 1;
  call.stream = 1;
  call.api = api;
  call.object = object;
  call.made = made;
  return call;
}

/// An unbalanced graph, launched twice by one exec; `between` may give its memory back.
Report launched_twice(std::optional<ApiEvent> between) {
  Recording recording{"run", {graph_of({alloc(), op("use")}, {{0, 1}})}, {}, true};
  recording.timeline.graphs.push_back({1, 3, 0});
  auto& calls = recording.timeline.calls;
  calls = {event(2, Api::graph_instantiate, 3, 9), event(3, Api::graph_launch, 9)};
  if (between) calls.push_back(*between);
  calls.push_back(event(5, Api::graph_launch, 9));
  return audit({{std::move(recording)}});
}

}  // namespace

TEST_CASE("RF203: a free node of the same address balances it, in a body too, and one of another address does not") {
  CHECK(rules_of(audit_graphs({graph_of({alloc(), gives_back()}, {{0, 1}})})) == Ids{});
  CHECK(rules_of(audit_graphs({graph_of({alloc(), gives_back(kAddress + 4096)}, {{0, 1}})})) == Ids{"RF203"});
  Node child;
  child.kind = NodeKind::child;
  child.bodies = {graph_of({gives_back()}, {})};
  CHECK(rules_of(audit_graphs({graph_of({alloc(), child}, {{0, 1}})})) == Ids{});
}

TEST_CASE("RF203: where addresses are not shown, numbers are compared") {
  CHECK(rules_of(audit_graphs({graph_of({alloc(0), alloc(0), gives_back(0), gives_back(0)}, {{0, 2}, {1, 3}})})) ==
        Ids{});
  CHECK(rules_of(audit_graphs({graph_of({alloc(0), alloc(0), gives_back(0)}, {{0, 2}, {1, 2}})})) == Ids{"RF203"});
}

TEST_CASE("RF203: two launches make it an error, unless the program freed the memory in between") {
  const auto severity = [](const Report& report) {
    for (const Finding& finding : report.findings())
      if (finding.rule == "RF203") return std::optional(finding.severity);
    return std::optional<Severity>();
  };
  CHECK(severity(launched_twice({})) == Severity::error);
  ApiEvent freed = event(4, Api::free_async);
  freed.address = kAddress;
  CHECK_FALSE(severity(launched_twice(freed)));
  freed.address = kAddress + 4096;
  CHECK(severity(launched_twice(freed)) == Severity::error);
}

TEST_CASE("RF208: a free behind every user is none, whoever else runs beside it") {
  const Graph graph =
      graph_of({alloc(), fills(kAddress), fills(kAddress + 8192), gives_back()}, {{0, 1}, {1, 3}, {0, 2}});
  CHECK(rules_of(audit_graphs({graph})) == Ids{});
}

TEST_CASE("RF208: a later allocation at the same address has users of its own") {
  const Graph graph = graph_of({alloc(), fills(kAddress), gives_back(), alloc(), fills(kAddress), gives_back()},
                               {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  CHECK(rules_of(audit_graphs({graph})) == Ids{});
}

TEST_CASE("RF208: hidden kernels before the allocation, behind the free, or off its path are no users") {
  const auto graph = [](std::vector<std::pair<NodeId, NodeId>> edges) {
    return graph_of({unknown("k"), alloc(), unknown("user"), gives_back()}, edges);
  };
  CHECK(rules_of(audit_graphs({graph({{0, 1}, {1, 2}, {2, 3}})})) == Ids{});
  CHECK(rules_of(audit_graphs({graph({{1, 2}, {2, 3}, {3, 0}})})) == Ids{});
  CHECK(rules_of(audit_graphs({graph({{1, 2}, {2, 3}})})) == Ids{});
  const Report report = audit_graphs({graph({{1, 2}, {2, 3}, {1, 0}})});
  CHECK(rules_of(report) == Ids{"RF208"});
  for (const Finding& finding : report.findings()) {
    if (finding.rule != "RF208") continue;
    CHECK(finding.certainty == Certainty::inferred);
    CHECK(finding.nodes == std::vector<NodeId>{3, 0});
  }
}

TEST_CASE("RF208: a kernel whose arguments are shown and name other memory is no user") {
  Node other = unknown("other");
  other.params.push_back({0, 8, {0, 0, 0, 0, 0, 0x7f, 0, 0}});
  CHECK(rules_of(audit_graphs({graph_of({alloc(), other, gives_back()}, {{0, 1}, {0, 2}})})) == Ids{});
  other.params[0].bytes = {0x10, 0, 0, 0x02, 0x03, 0, 0, 0};  // 0x302000010
  CHECK(rules_of(audit_graphs({graph_of({alloc(), other, gives_back()}, {{0, 1}, {0, 2}})})) == Ids{"RF208"});
}

TEST_CASE("RF206: a larger buffer of another name, a smaller one, or one that went first is no growth") {
  const auto with = [](std::string name, std::uint64_t bytes, std::optional<std::uint64_t> died) {
    Graph graph = graph_of({zeroes(0)}, {}, 2);
    graph.buffers[0].role = Role::workspace;
    graph.buffers[0].born = 1;
    graph.buffers[0].died = 7;
    graph.buffers[1].name = std::move(name);
    graph.buffers[1].bytes = bytes;
    graph.buffers[1].born = 3;
    graph.buffers[1].died = died;
    return rules_of(audit_graphs({graph}));
  };
  CHECK(with("buffer_a", 128, {}) == Ids{"RF206"});
  CHECK(with("buffer_a", 128, 9) == Ids{"RF206"});
  CHECK(with("buffer_b", 128, {}) == Ids{"RF401"});
  CHECK(with("buffer_a", 64, {}) == Ids{"RF401"});
  CHECK(with("buffer_a", 128, 5) == Ids{"RF401"});
}

TEST_CASE("RF206: memory that is no workspace is a stale pointer, however it grew") {
  Graph graph = graph_of({zeroes(0)}, {}, 2);
  graph.buffers[0].role = Role::state;
  graph.buffers[0].born = 1;
  graph.buffers[0].died = 7;
  graph.buffers[1].name = graph.buffers[0].name;
  graph.buffers[1].bytes = 128;
  graph.buffers[1].born = 8;
  CHECK(rules_of(audit_graphs({graph})) == Ids{"RF401"});
}

TEST_CASE("RF201: an exchange before the capture begins covers it, and one that asks for global again does not") {
  const auto severity = [](CaptureMode asked) {
    Timeline timeline;
    timeline.calls = {event(1, Api::exchange_capture_mode), event(2, Api::begin_capture), event(3, Api::malloc),
                      event(4, Api::end_capture)};
    timeline.calls[0].mode = asked;
    for (std::size_t i = 1; i < 4; ++i) timeline.calls[i].capture = 1;
    const auto found = audit({{{"run", {}, timeline, true}}}).findings();
    return found.size() == 1 && found[0].rule == "RF201" ? std::optional(found[0].severity) : std::nullopt;
  };
  CHECK(severity(CaptureMode::relaxed) == Severity::note);
  CHECK(severity(CaptureMode::global) == Severity::error);
}
