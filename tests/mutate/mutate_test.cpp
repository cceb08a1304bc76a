// The audit under mutation: from every clean graph many broken ones are made, and each
// must be killed by a rule that its harm names, with one finding for one fault. What is
// equivalent is told by a check that shares no code with the rules.
#include <fmt/format.h>

#include <iostream>
#include <random>
#include <set>

#include "audit/mutate/mutate.hpp"
#include "audit/mutate/operators.hpp"
#include "audit/mutate/report.hpp"
#include "graphs/error.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"
#include "tests/mutate/clean_graphs.hpp"

using namespace refrain;
using namespace refrain::test;
using mutate::Tally;
using mutate::Verdict;

namespace {

Tally mutants_of(const std::vector<CleanGraph>& graphs, std::uint64_t seed) {
  Tally all;
  for (const CleanGraph& clean : graphs) {
    const Tally tally = mutate::mutate(clean.graph, seed, clean.name);
    for (const mutate::Escape& escape : tally.escapes) {
      std::string found;
      for (const std::string& finding : escape.found) found += "\n  found " + finding;
      FAIL_CHECK(clean.name << ", " << to_string(escape.verdict) << ": " << escape.what << "\n  harm: " << escape.why
                            << found);
    }
    all.merge(tally);
  }
  return all;
}

std::uint64_t seed_of_now() {
  return std::random_device{}();
}

}  // namespace

TEST_CASE("mutation: every mutant of every clean graph is killed by the right rule with one finding or is equivalent") {
  const std::uint64_t seed = seed_of_now();
  INFO("seed " << seed);
  Tally all = mutants_of(step_graphs(), seed);
  const std::size_t of_steps = all.mutants();
  all.merge(mutants_of(model_graphs(), seed));
  all.merge(mutants_of(case_graphs(), seed));
  all.merge(mutants_of({copying_graph()}, seed));
  std::cout << tally_text(all);
  CHECK(of_steps >= 1000);
  CHECK(all.count(Verdict::killed) + all.count(Verdict::equivalent) == all.mutants());
  // An operator that never breaks anything tests nothing.
  for (const mutate::OperatorTally& of : all.operators) {
    INFO(of.name);
    CHECK(of.counts[static_cast<std::size_t>(Verdict::killed)] > 0);
  }
  for (const char* rule :
       {"RF103", "RF105", "RF204", "RF205", "RF206", "RF207", "RF208", "RF301", "RF302", "RF303", "RF304", "RF305",
        "RF306", "RF307", "RF308", "RF309", "RF310", "RF311", "RF401", "RF402", "RF403", "RF404", "RF408", "RF605"}) {
    INFO(rule);
    CHECK(all.kills.contains(rule));
  }
}

TEST_CASE("mutation: a graph with a finding is refused by the name of its rule") {
  const Graph dirty = graph_of({op("read", {touch(0, Mode::read)})}, {});
  CHECK_THROWS_WITH(mutate::mutate(dirty, 1, "dirty.json"), Catch::Contains("RF306") && Catch::Contains("dirty.json"));
}

TEST_CASE("mutation: a graph with a node of no contract is refused by the name of the node") {
  const Graph open = graph_of({unknown("mystery")}, {});
  CHECK_THROWS_WITH(mutate::mutate(open, 1, "open.json"), Catch::Contains("mystery"));
}

TEST_CASE("mutation: the same seed makes the same mutants") {
  const CleanGraph clean = copying_graph();
  CHECK(mutate::tally_json(mutate::mutate(clean.graph, 7, "a")) ==
        mutate::tally_json(mutate::mutate(clean.graph, 7, "a")));
}

TEST_CASE("mutation: no two operators have one name") {
  std::set<std::string> names;
  for (const mutate::Operator& op : mutate::operators()) CHECK(names.insert(op.name).second);
}
