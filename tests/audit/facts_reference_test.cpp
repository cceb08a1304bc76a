// The analysis against its definition, on thousands of small random graphs.
#include <algorithm>
#include <random>

#include "audit/facts.hpp"
#include "graphs/readers.hpp"
#include "tests/audit/build.hpp"
#include "tests/audit/facts_reference.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::uint64_t kBytes = 8;

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {}

  Graph make() {
    const std::size_t count = 2 + below(8);
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < count; ++i) nodes.push_back(node());
    std::vector<std::pair<NodeId, NodeId>> edges;
    const auto density = 1 + below(9);
    // Edges lead along a shuffled order, so that ids say nothing about it.
    std::vector<NodeId> order(count);
    for (NodeId i = 0; i < count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    for (NodeId a = 0; a < count; ++a)
      for (NodeId b = a + 1; b < count; ++b)
        if (below(10) < density) edges.push_back({order[a], order[b]});
    Graph graph = graph_of(std::move(nodes), edges, kBuffers);
    for (Buffer& buffer : graph.buffers) buffer.shared = below(4) == 0;
    for (std::size_t i = below(4); i > 0; --i)
      graph.entry.push_back({fact(), buffer(), range(), static_cast<Origin>(below(3)), "test"});
    return graph;
  }

 private:
  static constexpr std::size_t kBuffers = 2;

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  Fact fact() { return static_cast<Fact>(below(4)); }
  BufferId buffer() { return static_cast<BufferId>(below(kBuffers)); }
  ByteRange range() {
    const auto begin = below(kBytes);
    return {begin, begin + 1 + below(kBytes - begin)};
  }

  Node node() {
    Node node = op("op");
    for (std::size_t i = below(4); i > 0; --i) {
      node.accesses.push_back(touch(buffer(), static_cast<Mode>(below(4)), range(), static_cast<Reach>(below(4) == 0)));
      const NodeAccess& access = node.accesses.back();
      if (access.mode != Mode::read && below(2) == 0)
        node.gives.push_back({fact(), access.buffer, below(3) == 0 ? inside(access.range) : access.range});
    }
    for (std::size_t i = below(3); i > 0; --i) node.needs.push_back({fact(), buffer(), range()});
    return node;
  }
  ByteRange inside(ByteRange outer) {
    const auto begin = outer.begin + below(outer.size());
    return {begin, begin + 1 + below(outer.end - begin)};
  }

  std::mt19937 random_;
};

FailedNeeds failures_of(const FactsResult& result) {
  FailedNeeds failed;
  for (const Failure& f : result.failures) {
    // One failure a need.
    CHECK(failed.insert({f.node, f.fact, f.buffer, f.needed.begin, f.needed.end}).second);
    CHECK(f.needed.covers(f.broken));
    CHECK_FALSE(f.broken.empty());
  }
  return failed;
}

}  // namespace

TEST_CASE("facts: a need fails exactly where the definition says, on random graphs") {
  std::size_t failed = 0, held = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    const Graph graph = RandomGraph(seed).make();
    const auto expected = reference_failures(graph);
    const auto actual = failures_of(analyse_facts(graph, Topology(graph)));
    failed += expected.size();
    for (const Node& node : graph.nodes) held += needs_of(node).size();
    if (actual != expected) {
      INFO("seed " << seed << "\n" << write_graph_json(graph));
      REQUIRE(actual == expected);
    }
  }
  held -= failed;
  // A comparison of graphs that all fail, or all hold, would show little.
  CHECK(failed > 5000);
  CHECK(held > 5000);
}

TEST_CASE("facts: every race that is reported is one, and a buffer with races has one reported, on random graphs") {
  std::size_t racy = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    const Graph graph = RandomGraph(seed).make();
    const auto all = reference_races(graph, false), exact = reference_races(graph, true);
    std::set<BufferId> expected, actual;
    for (const auto& [a, b, buffer] : all) expected.insert(buffer);
    for (const Race& race : analyse_facts(graph, Topology(graph)).races) {
      const std::tuple key(std::min(race.a, race.b), std::max(race.a, race.b), race.buffer);
      INFO("seed " << seed << "\n" << write_graph_json(graph));
      REQUIRE(all.contains(key));
      REQUIRE((!race.exact || exact.contains(key)));
      actual.insert(race.buffer);
    }
    INFO("seed " << seed << "\n" << write_graph_json(graph));
    REQUIRE(actual == expected);
    racy += expected.size();
  }
  CHECK(racy > 1000);
}
