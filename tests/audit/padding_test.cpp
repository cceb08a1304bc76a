// Rules 306, 308, 311 and 408 beside each other: which of them a missing byte
// belongs to; and the set of ranges that they count with.
#include <set>

#include "audit/audit.hpp"
#include "audit/range_set.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

using Ids = std::multiset<std::string>;

Ids rules_of(const Graph& graph) {
  Ids ids;
  for (const Finding& finding : audit_graphs({graph}).findings()) ids.insert(finding.rule);
  return ids;
}

Graph with_role(Graph graph, Role role) {
  for (Buffer& buffer : graph.buffers) buffer.role = role;
  return graph;
}

}  // namespace

TEST_CASE("ranges: what touches or overlaps becomes one, and what is missing comes in order") {
  RangeSet set;
  set.add({10, 20});
  set.add({30, 40});
  set.add({5, 5});
  CHECK(set.ranges() == std::vector<ByteRange>{{10, 20}, {30, 40}});
  CHECK(set.missing_from({0, 50}) == std::vector<ByteRange>{{0, 10}, {20, 30}, {40, 50}});
  CHECK(set.missing_from({12, 20}).empty());
  CHECK(set.missing_from({15, 35}) == std::vector<ByteRange>{{20, 30}});
  CHECK_FALSE(set.overlaps({20, 30}));
  set.add({20, 25});
  set.add({24, 31});
  CHECK(set.ranges() == std::vector<ByteRange>{{10, 40}});
  CHECK(set.covers({10, 40}));
  CHECK_FALSE(set.covers({9, 40}));
  CHECK(RangeSet().missing_from({3, 4}) == std::vector<ByteRange>{{3, 4}});
}

TEST_CASE("padding: a read of output rows that nobody writes is rule 308's alone, of other memory rule 306's") {
  const Graph graph =
      graph_of({op("rows", {touch(0, Mode::write, {0, 16})}), op("amax", {touch(0, Mode::read)})}, {{0, 1}});
  CHECK(rules_of(with_role(graph, Role::output)) == Ids{"RF308"});
  CHECK(rules_of(with_role(graph, Role::workspace)) == Ids{"RF306"});
}

TEST_CASE("padding: rows that are written with no order to their reader are no missing rows") {
  const Graph graph = graph_of({op("rows", {touch(0, Mode::write)}), op("amax", {touch(0, Mode::read)})}, {});
  CHECK(rules_of(with_role(graph, Role::output)) == Ids{"RF306"});
}

TEST_CASE("padding: an output that nobody writes at all is not about padding") {
  CHECK(rules_of(with_role(graph_of({op("amax", {touch(0, Mode::read)})}, {}), Role::output)) == Ids{"RF306"});
}

TEST_CASE("padding: an input that the host refreshes in part is rule 311's, one that it does not touch is not") {
  Graph graph = with_role(graph_of({op("rope", {touch(0, Mode::read)})}, {}), Role::input);
  CHECK(rules_of(graph) == Ids{"RF306"});
  graph.entry.push_back({Fact::written, 0, {0, 40}, Origin::host_each_launch, "host"});
  CHECK(rules_of(graph) == Ids{"RF311"});
  graph.entry.push_back({Fact::written, 0, {32, 64}, Origin::initialised_once, "host"});
  CHECK(rules_of(graph) == Ids{"RF311"});
  graph.entry.push_back({Fact::zeroed, 0, {40, 64}, Origin::host_each_launch, "host"});  // zeroed implies written
  CHECK(rules_of(graph) == Ids{});
}

TEST_CASE("padding: a node that fills the tail helps its readers, and only if it comes before them") {
  const auto graph = [](std::vector<std::pair<NodeId, NodeId>> edges) {
    Graph g = graph_of({op("fill", {touch(0, Mode::write, {40, 64})}), op("rope", {touch(0, Mode::read)})}, edges);
    g.entry.push_back({Fact::written, 0, {0, 40}, Origin::host_each_launch, "host"});
    g.entry.push_back({Fact::written, 0, {40, 64}, Origin::initialised_once, "host"});
    return with_role(g, Role::input);
  };
  CHECK(rules_of(graph({{0, 1}})) == Ids{});
  CHECK(rules_of(graph({{1, 0}})) == Ids{"RF311"});
}

TEST_CASE("padding: bytes past the end of a buffer are rule 408's alone, in every analysis of facts") {
  Graph graph = graph_of({op("fill", {touch(0, Mode::write)}), op("use", {touch(0, Mode::read, {0, 80})})}, {{0, 1}});
  CHECK(rules_of(graph) == Ids{"RF408"});
  // Two unordered writers that meet past the end only: no bytes of the buffer race.
  graph = graph_of({op("a", {touch(0, Mode::write, {64, 80})}), op("b", {touch(0, Mode::write, {64, 96})})}, {});
  CHECK(rules_of(graph) == Ids{"RF408"});
  graph.buffers[0].bytes = 0;  // of no known size: nothing is past its end
  CHECK(rules_of(graph) == Ids{"RF307"});
}

TEST_CASE("padding: a need past the end of a buffer asks nothing of the bytes that are not there") {
  Graph graph = graph_of({zeroes(0), counts(0, {0, 80})}, {{0, 1}});
  CHECK(rules_of(graph) == Ids{"RF408"});
}
