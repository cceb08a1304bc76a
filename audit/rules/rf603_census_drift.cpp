// RF603: two captures of one bucket, in one input, that do not hold the same
// nodes. A capture is meant to be repeatable: when a node is missing the second
// time, it ran elsewhere, or the code took another path. It counts nodes by kind
// and name; launch dims, arguments and edges are for refrain diff.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

using Census = std::map<std::string, std::int64_t>;

void count_nodes(const Graph& graph, Census& census) {
  for (const Node& node : graph.nodes) {
    ++census[node.kind == NodeKind::kernel ? name_of(node) : to_string(node.kind)];
    for (const Graph& body : node.bodies) count_nodes(body, census);
  }
}

/// `2 pad_fix less`, by name.
std::vector<std::string> drift(const Census& first, const Census& second) {
  Census by = second;
  for (const auto& [name, count] : first) by[name] -= count;
  std::vector<std::string> words;
  for (const auto& [name, more] : by)
    if (more != 0) words.push_back(fmt::format("{} {} {}", more > 0 ? more : -more, name, more > 0 ? "more" : "fewer"));
  return words;
}

struct Bucket {
  const GraphView* first = nullptr;
  const GraphView* differs = nullptr;  // the first that does
  Census census;
  std::vector<std::string> drift;
  std::uint64_t captures = 0, differing = 0;
};

void add(Bucket& bucket, const GraphView& view) {
  Census census;
  count_nodes(view.graph(), census);
  ++bucket.captures;
  if (bucket.first == nullptr) {
    bucket.first = &view;
    bucket.census = std::move(census);
    return;
  }
  if (census == bucket.census) return;
  ++bucket.differing;
  if (bucket.differs != nullptr) return;
  bucket.differs = &view;
  bucket.drift = drift(bucket.census, census);
}

void report_bucket(const Bucket& bucket, Report& report) {
  const Graph& graph = bucket.differs->graph();
  Finding finding = new_finding("RF603", *bucket.differs, Certainty::proven);
  finding.count = bucket.differing;
  finding.where = fmt::format("{}, bucket {}", place(*bucket.differs), graph.capture.bucket);
  finding.message = fmt::format(
      "{} of {} captures of this bucket {} other nodes than the first ({}): they do not compute the same",
      bucket.differing, bucket.captures, bucket.differing == 1 ? "holds" : "hold", list_names(bucket.drift));
  finding.evidence.push_back(fmt::format("the first capture has {} nodes, this one {}",
                                         bucket.first->graph().nodes.size(), graph.nodes.size()));
  finding.fix = "compare the two with refrain diff, and make what was captured depend on the bucket alone";
  report.add(std::move(finding), std::vector<std::string>{graph.name, graph.capture.bucket});
}

}  // namespace

void check_rf603(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF603")) return;
  using Key = std::tuple<const Recording*, std::string, std::string, std::string>;
  std::map<Key, Bucket> buckets;
  for (const GraphView& graph : view.graphs()) {
    const CaptureInfo& capture = graph.graph().capture;
    if (graph.parent() || capture.bucket.empty()) continue;
    add(buckets[{&graph.recording(), graph.graph().name, capture.phase, capture.bucket}], graph);
  }
  for (const auto& [key, bucket] : buckets)
    if (bucket.differs != nullptr) report_bucket(bucket, report);
}

}  // namespace refrain
