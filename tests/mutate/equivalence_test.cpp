// What finds the harms of a mutant is itself judged: on random graphs it must agree
// with the facts straight from their definition, byte by byte (tests/audit), which
// shares no code with it.
#include <random>

#include "audit/mutate/harms.hpp"
#include "tests/audit/build.hpp"
#include "tests/audit/facts_reference.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  Graph make() {
    const NodeId count = 2 + below(5);
    std::vector<Node> nodes;
    std::vector<std::pair<NodeId, NodeId>> edges;
    for (NodeId id = 0; id < count; ++id) {
      nodes.push_back(op("op", {}, {}, {}));
      for (NodeId from = 0; from < id; ++from)
        if (below(2) == 0) edges.push_back({from, id});
      const std::uint32_t touches = 1 + below(2);
      for (std::uint32_t i = 0; i < touches; ++i) add_touch(nodes.back());
    }
    Graph graph = graph_of(std::move(nodes), edges, 2);
    for (BufferId buffer = 0; buffer < 2; ++buffer)
      if (below(3) != 0)
        graph.entry.push_back(
            {fact(), buffer, range(), below(2) == 0 ? Origin::host_each_launch : Origin::initialised_once, ""});
    return graph;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  Fact fact() { return below(2) == 0 ? Fact::zeroed : Fact::written; }
  ByteRange range() {
    const std::uint64_t begin = 16 * below(4);
    return {begin, begin + 16 * (1 + below(static_cast<std::uint32_t>(4 - begin / 16)))};
  }

  void add_touch(Node& node) {
    const BufferId buffer = below(2);
    const ByteRange bytes = range();
    const Mode modes[] = {Mode::read, Mode::write, Mode::write, Mode::accumulate};
    const Mode mode = modes[below(4)];
    node.accesses.push_back(touch(buffer, mode, bytes, below(4) == 0 ? Reach::may : Reach::exact));
    if (mode == Mode::write && node.accesses.back().reach == Reach::exact && below(2) == 0)
      node.gives.push_back({Fact::zeroed, buffer, bytes});
    if (mode == Mode::read && below(3) == 0) node.needs.push_back({Fact::zeroed, buffer, bytes});
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("harms: on random graphs there is one exactly where a need fails or two nodes race by definition") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Maker maker(seed);
  std::size_t harmed = 0, clean = 0;
  for (int i = 0; i < 4000; ++i) {
    const Graph graph = maker.make();
    const bool wrong = !reference_failures(graph).empty() || !reference_races(graph, false).empty();
    ++(wrong ? harmed : clean);
    CAPTURE(i);
    REQUIRE(mutate::content_harms(graph).empty() == !wrong);
  }
  CHECK(harmed > 100);
  CHECK(clean > 100);
}
