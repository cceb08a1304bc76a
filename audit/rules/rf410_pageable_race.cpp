// RF410: a blocking copy from pageable memory, and then a launch on another stream
// that reads what it wrote. cudaMemcpy returns when the bytes are staged, not when
// they have arrived, and only the legacy stream waits for the rest.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "audit/captures.hpp"
#include "audit/rules/address_index.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/stream_order.hpp"
#include "audit/rules/traffic.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

// Measured: no stale read at or below this, with 146 of 200 above it. CUDA's manual promises no such size, so it
// decides only where nothing shows whether the launch reads the bytes.
constexpr std::uint64_t kQuietBytes = 256 << 10;

struct Copy {
  const ApiEvent* call;
  OrderedAfter after;
};

/// One finding: a graph and a buffer, or a kernel by name.
struct Race {
  const ApiEvent *copy = nullptr, *launch = nullptr;
  std::uint64_t count = 0;
  std::vector<NodeId> nodes;  // of the first copy
  bool known = false;         // a contract or an argument says that the launch reads it
};

using Races = std::map<std::pair<std::optional<std::size_t>, std::string>, Race>;  // view, buffer or kernel

class Watch {
 public:
  Watch(const SubjectView& view, const Traffic& traffic, const Timeline& timeline)
      : view_(view), traffic_(traffic), timeline_(timeline) {}

  Races run() {
    for (const ApiEvent& call : timeline_.calls) {
      if (OrderedAfter::concerns(call.api)) std::erase_if(copies_, [&](Copy& copy) { return copy.after.follow(call); });
      // A copy during a capture is rule 502's.
      if (is_staged(call) && call.capture == 0)
        copies_.push_back({&call, OrderedAfter(call.stream)});
      else if (call.stream != 0 && ran_at_once(call))
        launch(call);
    }
    return std::move(races_);
  }

 private:
  void launch(const ApiEvent& call) {
    const TimedGraph* graph = traffic_.launched_by(call);
    if (graph == nullptr && call.api != Api::graph_launch && !is_kernel(call.api)) return;
    // What this graph did not read the last time, it does not read now.
    std::uint64_t& seen = seen_[{graph, call.stream}];
    auto fresh = std::upper_bound(copies_.begin(), copies_.end(), seen, [](std::uint64_t sequence, const Copy& copy) {
      return sequence < copy.call->sequence;
    });
    seen = call.sequence;
    copies_.erase(std::remove_if(fresh, copies_.end(),
                                 [&](const Copy& copy) {
                                   if (copy.after.orders(call)) return false;
                                   return graph == nullptr ? unknown(copy, call, std::nullopt)
                                                           : read(copy, call, *graph);
                                 }),
                  copies_.end());
  }

  /// The blocking copies from the host: a copy to a symbol is one, by another name.
  static bool is_staged(const ApiEvent& call) noexcept {
    return (call.api == Api::memcpy_h2d || call.api == Api::memcpy_to_symbol) && call.code == 0 &&
           call.source_space == MemorySpace::pageable;
  }
  static bool is_kernel(Api api) noexcept { return api == Api::launch_kernel || api == Api::launch_kernel_first_use; }

  /// What a launch reads is not known: its size alone speaks. True when it was reported.
  bool unknown(const Copy& copy, const ApiEvent& call, std::optional<std::size_t> view) {
    if (copy.call->bytes <= kQuietBytes) return false;
    const std::string& detail = timeline_.text(call.detail);
    note({view, view ? "" : detail.empty() ? to_string(call.api) : detail}, copy, call, {}, false);
    return true;
  }

  bool read(const Copy& copy, const ApiEvent& call, const TimedGraph& graph) {
    Reads& reads = reads_of(graph);
    std::map<std::pair<std::size_t, std::string>, std::vector<NodeId>> hits;
    const Address begin = copy.call->address, end = begin + copy.call->bytes;
    reads.touched.each(begin, end, [&](std::uint32_t id) {
      const Touch& touch = graph.touches[id];
      hits[{touch.view, name_of(view_.graphs()[touch.view].graph(), touch.buffer)}].push_back(touch.node);
    });
    reads.pointers.each(begin, end, [&](std::uint32_t id) {
      const auto& [view, node] = reads.of_pointer[id];
      hits[{view, buffer_name_at(view_.graphs()[view].graph(), begin, "the copied bytes")}].push_back(node);
    });
    for (auto& [where, nodes] : hits) note({where.first, where.second}, copy, call, std::move(nodes), true);
    if (!hits.empty()) return true;
    return reads.hidden && unknown(copy, call, graph.views.front());
  }

  void note(std::pair<std::optional<std::size_t>, std::string> where, const Copy& copy, const ApiEvent& call,
            std::vector<NodeId> nodes, bool known) {
    Race& race = races_[std::move(where)];
    if (race.count++ > 0) return;
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    race = {copy.call, &call, 1, std::move(nodes), known};
  }

  /// What the nodes of one graph read by contract, and what those without one point at.
  struct Reads {
    AddressIndex touched, pointers;
    std::vector<std::pair<std::size_t, NodeId>> of_pointer;
    bool hidden = false;  // a node with neither contract nor arguments
  };

  Reads& reads_of(const TimedGraph& graph) {
    const auto [at, fresh] = reads_.try_emplace(&graph);
    Reads& reads = at->second;
    if (!fresh) return reads;
    for (std::uint32_t id = 0; id < graph.touches.size(); ++id)
      if (graph.touches[id].mode != Mode::write) reads.touched.add(graph.touches[id].begin, graph.touches[id].end, id);
    if (!graph.has_unknown) return reads;
    for (const std::size_t view : graph.views) {
      const Graph& body = view_.graphs()[view].graph();
      for (NodeId node = 0; node < body.nodes.size(); ++node)
        if (is_unknown(body.nodes[node])) add_pointers(view, node, body.nodes[node], reads);
    }
    return reads;
  }

  static void add_pointers(std::size_t view, NodeId id, const Node& node, Reads& reads) {
    if (node.params.empty()) reads.hidden = true;
    for (const Param& param : node.params)
      for (std::size_t at = (8 - param.offset % 8) % 8; at + 8 <= param.bytes.size(); at += 8) {
        Address address = 0;
        std::memcpy(&address, param.bytes.data() + at, sizeof address);
        reads.pointers.add(address, address + 1, static_cast<std::uint32_t>(reads.of_pointer.size()));
        reads.of_pointer.emplace_back(view, id);
      }
  }

  const SubjectView& view_;
  const Traffic& traffic_;
  const Timeline& timeline_;
  std::vector<Copy> copies_;
  std::map<const TimedGraph*, Reads> reads_;
  std::map<std::pair<const TimedGraph*, std::uint32_t>, std::uint64_t> seen_;  // graph, stream -> last launch
  Races races_;
};

void report_race(const SubjectView& view, std::optional<std::size_t> index, const std::string& name, const Race& race,
                 Report& report) {
  Finding finding = new_finding("RF410", race.known ? Certainty::contract : Certainty::inferred);
  finding.count = race.count;
  finding.nodes = race.nodes;
  std::string reader = fmt::format("{} on stream {}", name, race.launch->stream);
  finding.where = reader;
  if (index) {
    const GraphView& graph = view.graphs()[*index];
    finding.graph = graph.path();
    finding.where = race.known ? place(graph, race.nodes, {name}) : place(graph);
    reader = race.known ? describe(graph.graph(), race.nodes.front()) : finding.where;
  }
  finding.message = fmt::format(
      "{} of {} pageable bytes{} at event {} returned when they were staged; {} was launched on stream {} at "
      "event {} and {} them with no order to the rest of the copy",
      race.copy->api == Api::memcpy_h2d ? "cudaMemcpy" : to_string(race.copy->api), race.copy->bytes,
      race.known ? " to " + name : "", race.copy->sequence, index ? reader : name, race.launch->stream,
      race.launch->sequence, race.known ? "reads" : "may read");
  finding.evidence.push_back(fmt::format(
      "stream {} is taken for a non-blocking one; a blocking stream waits for the legacy stream", race.launch->stream));
  if (race.count > 1) finding.evidence.push_back(fmt::format("{} copies raced", race.count));
  finding.fix = fmt::format(
      "synchronize the legacy stream after the copy (cudaStreamSynchronize(cudaStreamLegacy)), or copy from pinned "
      "memory "
      "with cudaMemcpyAsync on stream {}",
      race.launch->stream);
  report.add(std::move(finding), std::vector<std::string>{name});
}

}  // namespace

void check_rf410(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF410", "a graph alone does not show the calls between its launches")) return;
  const GraphLives lives(view);
  tell_untied_graphs(view, lives, report, "RF410");
  for (const Recording* recording : view.timelines()) {
    const Traffic traffic(view, lives, *recording);
    for (const auto& [where, race] : Watch(view, traffic, recording->timeline).run())
      report_race(view, where.first, where.second, race, report);
  }
}

}  // namespace refrain
