// What the analysis says about why a need failed, case by case.
#include "audit/facts.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::vector<Failure> failures(const Graph& graph) {
  return analyse_facts(graph, Topology(graph)).failures;
}

Failure only_zeroed_failure(const Graph& graph) {
  std::vector<Failure> found;
  for (const Failure& failure : failures(graph))
    if (failure.fact == Fact::zeroed) found.push_back(failure);
  REQUIRE(found.size() == 1);
  return found.front();
}

EntryFact entry(Fact fact, Origin origin, ByteRange range = kAll) {
  return {fact, 0, range, origin, "test"};
}

}  // namespace

TEST_CASE("facts: a scratch that nobody zeroes is missing") {
  const Failure failure = only_zeroed_failure(graph_of({counts(0)}, {}));
  CHECK(failure.kind == FailureKind::missing);
  CHECK(failure.node == 0);
  CHECK_FALSE(failure.giver);
  CHECK(failure.broken == kAll);
}

TEST_CASE("facts: zeroing before the consumer holds, also through other nodes") {
  CHECK(failures(graph_of({zeroes(0), op("other"), counts(0)}, {{0, 1}, {1, 2}})).empty());
}

TEST_CASE("facts: zeroing in parallel is unordered, and its place in the list says nothing") {
  const Failure failure = only_zeroed_failure(graph_of({zeroes(0), counts(0)}, {}));
  CHECK(failure.kind == FailureKind::unordered);
  CHECK(failure.giver == NodeId{0});
  const Failure reversed = only_zeroed_failure(graph_of({counts(0), zeroes(0)}, {}));
  CHECK(reversed.kind == FailureKind::unordered);
  CHECK(reversed.giver == NodeId{1});
}

TEST_CASE("facts: zeroing after the consumer is unordered, for it comes too late") {
  const Failure failure = only_zeroed_failure(graph_of({counts(0), zeroes(0)}, {{0, 1}}));
  CHECK(failure.kind == FailureKind::unordered);
  CHECK(failure.giver == NodeId{1});
  CHECK(failure.late);
}

TEST_CASE("facts: zeroing that ends early is short from its end on") {
  const Failure failure = only_zeroed_failure(graph_of({zeroes(0, {0, 16}), counts(0)}, {{0, 1}}));
  CHECK(failure.kind == FailureKind::short_);
  CHECK(failure.giver == NodeId{0});
  CHECK(failure.broken == ByteRange{16, 64});
}

TEST_CASE("facts: two nodes may zero a range between them") {
  CHECK(failures(graph_of({zeroes(0, {0, 16}), zeroes(0, {16, 64}), counts(0)}, {{0, 2}, {1, 2}})).empty());
}

TEST_CASE("facts: a write between the zeroing and the consumer destroys it, on the bytes that it writes") {
  const Failure failure = only_zeroed_failure(
      graph_of({zeroes(0), op("write", {touch(0, Mode::write, {8, 24})}), counts(0)}, {{0, 1}, {1, 2}}));
  CHECK(failure.kind == FailureKind::destroyed);
  CHECK(failure.giver == NodeId{0});
  CHECK(failure.destroyer == NodeId{1});
  CHECK(failure.broken == ByteRange{8, 24});
}

TEST_CASE("facts: a write through an index destroys too, for it may hit any byte") {
  const Node scatter = op("scatter", {touch(0, Mode::write, kAll, Reach::may)});
  CHECK(only_zeroed_failure(graph_of({zeroes(0), scatter, counts(0)}, {{0, 1}, {1, 2}})).kind ==
        FailureKind::destroyed);
}

TEST_CASE("facts: a second counter pass over the same scratch finds what the first one left") {
  const Failure failure = only_zeroed_failure(graph_of({zeroes(0), counts(0), counts(0)}, {{0, 1}, {1, 2}}));
  CHECK(failure.node == 2);
  CHECK(failure.kind == FailureKind::destroyed);
  CHECK(failure.destroyer == NodeId{1});
}

TEST_CASE("facts: a write in parallel to the consumer breaks its need, whichever comes first in the order") {
  const Node write = op("write", {touch(0, Mode::write)});
  const Failure failure = only_zeroed_failure(graph_of({zeroes(0), write, counts(0)}, {{0, 1}, {0, 2}}));
  CHECK(failure.kind == FailureKind::unordered);
  CHECK(failure.destroyer == NodeId{1});
  CHECK(failure.giver == NodeId{0});
  const Failure reversed = only_zeroed_failure(graph_of({zeroes(0), counts(0), write}, {{0, 1}, {0, 2}}));
  CHECK(reversed.kind == FailureKind::unordered);
  CHECK(reversed.destroyer == NodeId{2});
}

TEST_CASE("facts: a zeroing and a write with no order between them leave the consumer in doubt") {
  const Node write = op("write", {touch(0, Mode::write)});
  const Failure failure = only_zeroed_failure(graph_of({zeroes(0), write, counts(0)}, {{0, 2}, {1, 2}}));
  CHECK(failure.kind == FailureKind::unordered);
  CHECK(failure.giver == NodeId{0});
  CHECK(failure.destroyer == NodeId{1});
}

TEST_CASE("facts: a counter zeroed once before the first replay is lost to the second") {
  Graph graph = graph_of({counts(0)}, {});
  graph.entry = {entry(Fact::zeroed, Origin::initialised_once)};
  const Failure failure = only_zeroed_failure(graph);
  CHECK(failure.kind == FailureKind::entry_lost);
  CHECK(failure.destroyer == NodeId{0});
  CHECK(failure.entry == std::size_t{0});
}

TEST_CASE("facts: what was zeroed once holds for ever where the graph does not write") {
  Graph graph = graph_of({op("look", {touch(0, Mode::read)}, {{Fact::zeroed, 0, kAll}})}, {});
  graph.entry = {entry(Fact::zeroed, Origin::initialised_once)};
  CHECK(failures(graph).empty());
}

TEST_CASE("facts: the host may zero before every launch, or the graph at its end") {
  Graph by_host = graph_of({counts(0)}, {});
  by_host.entry = {entry(Fact::zeroed, Origin::host_each_launch)};
  CHECK(failures(by_host).empty());
  Graph by_graph = graph_of({counts(0), zeroes(0)}, {{0, 1}});
  by_graph.entry = {entry(Fact::zeroed, Origin::previous_replay)};
  CHECK(failures(by_graph).empty());
}

TEST_CASE("facts: a graph that zeroes only a part at its end loses the rest") {
  Graph graph = graph_of({counts(0), zeroes(0, {0, 32})}, {{0, 1}});
  graph.entry = {entry(Fact::zeroed, Origin::previous_replay)};
  const Failure failure = only_zeroed_failure(graph);
  CHECK(failure.kind == FailureKind::entry_lost);
  CHECK(failure.broken == ByteRange{32, 64});
}

TEST_CASE("facts: once written stays written, whatever writes over it") {
  Graph graph = graph_of({op("scatter", {touch(0, Mode::write, kAll, Reach::may)}), op("read", {touch(0, Mode::read)})},
                         {{0, 1}});
  graph.entry = {entry(Fact::written, Origin::initialised_once)};
  CHECK(failures(graph).empty());
}

TEST_CASE("facts: a write through an index writes no byte for sure") {
  const auto found = failures(graph_of(
      {op("scatter", {touch(0, Mode::write, kAll, Reach::may)}), op("read", {touch(0, Mode::read)})}, {{0, 1}}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].fact == Fact::written);
  CHECK(found[0].kind == FailureKind::missing);
}

TEST_CASE("facts: a read through an index needs its whole range written") {
  const auto found = failures(
      graph_of({op("write", {touch(0, Mode::write, {0, 32})}), op("gather", {touch(0, Mode::read, kAll, Reach::may)})},
               {{0, 1}}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == FailureKind::short_);
  CHECK(found[0].broken == ByteRange{32, 64});
}

TEST_CASE("facts: zeroed implies finite and written, and pad-fixed is a fact of its own") {
  CHECK(
      failures(graph_of({zeroes(0), op("use", {touch(0, Mode::read)}, {{Fact::finite, 0, kAll}})}, {{0, 1}})).empty());
  const auto found =
      failures(graph_of({zeroes(0), op("use", {touch(0, Mode::read)}, {{Fact::pad_fixed, 0, kAll}})}, {{0, 1}}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].fact == Fact::pad_fixed);
}

TEST_CASE("facts: an op that gives a fact without a write keeps the others") {
  const Node check = op("check", {touch(0, Mode::read)}, {}, {{Fact::pad_fixed, 0, kAll}});
  const Node use = op("use", {touch(0, Mode::read)}, {{Fact::zeroed, 0, kAll}, {Fact::pad_fixed, 0, kAll}});
  CHECK(failures(graph_of({zeroes(0), check, use}, {{0, 1}, {1, 2}})).empty());
}

TEST_CASE("facts: a node's own write does not serve its need") {
  const Node both = op("both", {touch(0, Mode::write)}, {{Fact::zeroed, 0, kAll}}, {{Fact::zeroed, 0, kAll}});
  CHECK(only_zeroed_failure(graph_of({both}, {})).kind == FailureKind::missing);
}

TEST_CASE("facts: an empty range needs nothing, and an empty graph neither") {
  CHECK(failures(graph_of({op("none", {touch(0, Mode::read, {8, 8})}, {{Fact::zeroed, 0, {4, 4}}})}, {})).empty());
  CHECK(failures(graph_of({}, {})).empty());
}

TEST_CASE("races: accumulations do not race with each other, but with a read and a plain write") {
  const auto races = [](Mode a, Mode b) {
    const Graph graph = graph_of({op("a", {touch(0, a)}), op("b", {touch(0, b)})}, {});
    return analyse_facts(graph, Topology(graph)).races.size();
  };
  CHECK(races(Mode::accumulate, Mode::accumulate) == 0);
  CHECK(races(Mode::read, Mode::read) == 0);
  CHECK(races(Mode::accumulate, Mode::read) == 1);
  CHECK(races(Mode::accumulate, Mode::write) == 1);
  CHECK(races(Mode::write, Mode::write) == 1);
  CHECK(races(Mode::read, Mode::read_write) == 1);
}

TEST_CASE("races: an accumulation does not hide the plain write before it from one in parallel") {
  const Graph graph = graph_of({op("write", {touch(0, Mode::write)}), op("add", {touch(0, Mode::accumulate)}),
                                op("add_too", {touch(0, Mode::accumulate)})},
                               {{0, 1}});
  const auto races = analyse_facts(graph, Topology(graph)).races;
  REQUIRE(races.size() == 1);
  CHECK(races[0].a == 0);
  CHECK(races[0].b == 2);
}

TEST_CASE("races: a buffer in the hands of a thousand parallel writers is told on a bounded number of times") {
  std::vector<Node> nodes(1000, op("write", {touch(0, Mode::write)}));
  const Graph graph = graph_of(std::move(nodes), {});
  const auto races = analyse_facts(graph, Topology(graph)).races;
  CHECK(races.size() == kRacesPerBuffer);
}

TEST_CASE(
    "facts: what was true before the first replay is lost in shared memory though no node of the graph writes it") {
  const Node reads = op("reads", {touch(0, Mode::read)}, {{Fact::zeroed, 0, kAll}});
  Graph graph = graph_of({reads}, {});
  graph.entry = {entry(Fact::zeroed, Origin::initialised_once)};
  CHECK(failures(graph).empty());
  graph.buffers[0].shared = true;
  REQUIRE(failures(graph).size() == 1);  // that it was written stays true
  const Failure failure = failures(graph).front();
  CHECK(failure.kind == FailureKind::entry_lost);
  CHECK(failure.fact == Fact::zeroed);
  CHECK(failure.entry == std::size_t{0});
  CHECK_FALSE(failure.destroyer);
}

TEST_CASE("facts: zeros that a replay leaves in shared memory are not there for the next one") {
  Graph graph = graph_of({counts(0), zeroes(0)}, {{0, 1}});
  graph.entry = {entry(Fact::zeroed, Origin::previous_replay)};
  CHECK(failures(graph).empty());
  graph.buffers[0].shared = true;
  const Failure failure = only_zeroed_failure(graph);
  CHECK(failure.kind == FailureKind::entry_lost);
  CHECK(failure.node == 0);
}

TEST_CASE("facts: in shared memory what the host writes before every launch holds and so does what the graph makes") {
  Graph graph = graph_of({counts(0)}, {});
  graph.buffers[0].shared = true;
  graph.entry = {entry(Fact::zeroed, Origin::host_each_launch)};
  CHECK(failures(graph).empty());
  Graph zeroing = graph_of({zeroes(0), counts(0)}, {{0, 1}});
  zeroing.buffers[0].shared = true;
  CHECK(failures(zeroing).empty());
}
