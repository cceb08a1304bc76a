#include "audit/contracts/apply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "audit/contracts/resolve.hpp"
#include "audit/facts.hpp"
#include "audit/range_set.hpp"

namespace refrain {
namespace {

using State = NodeCoverage::State;

// glibc's matcher needs memory for each byte; the longest names of template libraries are half of this.
constexpr std::size_t kLongestName = 16 * 1024;

/// Where one name fits: kernels repeat, so each is matched once.
struct Fit {
  std::size_t file = 0, contract = 0, use = 0;
  std::vector<std::string> groups;
};

class Applier {
 public:
  explicit Applier(std::span<const ContractFile> files) : files_(files) {
    for (const ContractFile& file : files_)
      for (const KernelContract& contract : file.contracts)
        coverage_.uses.push_back({file.path, contract.id, contract.basis});
  }

  void run(Graph& graph, const std::string& path) {
    const LiveBuffers live(graph);
    std::vector<Outside> outside;
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      Node& node = graph.nodes[id];
      for (std::size_t i = 0; i < node.bodies.size(); ++i)
        run(node.bodies[i], fmt::format("{}/node {}/{}", path, id,
                                        node.bodies[i].name.empty() ? fmt::format("body {}", i) : node.bodies[i].name));
      if (!node.has_contract && !is_unknown(node)) continue;
      NodeCoverage& row = coverage_.nodes.emplace_back();
      row.graph = path;
      row.node = describe(graph, id);
      if (node.has_contract)
        row.state = State::own;
      else
        cover(graph, live, id, row, outside);
    }
    if (!outside.empty()) add_entries(graph, outside);
  }

  ContractCoverage take() { return std::move(coverage_); }

 private:
  struct Outside {
    NodeId node = 0;
    OutsideBytes bytes;
  };
  using Written = std::map<BufferId, RangeSet>;

  void cover(Graph& graph, const LiveBuffers& live, NodeId id, NodeCoverage& row, std::vector<Outside>& outside) {
    Node& node = graph.nodes[id];
    if (node.kind != NodeKind::kernel) {
      row.reason = "it is no kernel";
      return;
    }
    const std::vector<Fit>& fits = fits_of(node);
    for (const Fit& fit : fits) ++coverage_.uses[fit.use].fits;
    if (fits.empty()) {
      row.reason = std::max(node.name.size(), node.mangled.size()) > kLongestName ? "its name is too long to be matched"
                                                                                  : "no pattern fits its name";
      return;
    }
    const Fit& fit = fits.front();
    const ContractFile& file = files_[fit.file];
    const KernelContract& contract = file.contracts[fit.contract];
    row.source = fmt::format("{}: {}", file.path, contract.id);
    Resolved resolved = resolve_contract(contract, file, fit.groups, graph, live, node);
    row.state = resolved.problem.empty() ? State::from_file : State::unresolved;
    row.reason = std::move(resolved.problem);
    if (row.state == State::unresolved) return;
    ++coverage_.uses[fit.use].given;
    node.has_contract = true;
    node.accesses = std::move(resolved.accesses);
    node.needs = std::move(resolved.needs);
    node.gives = std::move(resolved.gives);
    if (!node.waits) node.waits = contract.waits;
    if (!node.triggers) node.triggers = contract.triggers;
    if (!node.triggers_first) node.triggers_first = contract.triggers_first;
    for (const OutsideBytes& bytes : resolved.outside) outside.push_back({id, bytes});
  }

  const std::vector<Fit>& fits_of(const Node& node) {
    const auto [entry, fresh] = fits_.try_emplace(node.name + '\n' + node.mangled);
    if (!fresh) return entry->second;
    std::size_t use = 0;
    for (std::size_t f = 0; f < files_.size(); ++f)
      for (std::size_t c = 0; c < files_[f].contracts.size(); ++c, ++use) {
        const KernelPattern& pattern = files_[f].contracts[c].pattern;
        const std::string& name = pattern.on_mangled() ? node.mangled : node.name;
        if (name.empty() || name.size() > kLongestName) continue;
        if (auto groups = pattern.match(name)) entry->second.push_back({f, c, use, std::move(*groups)});
      }
    return entry->second;
  }

  /// What no node of the graph writes for sure was there when the replay began: the contract says that it comes from
  /// outside. What a node writes has to be written before it is read.
  static void add_entries(Graph& graph, const std::vector<Outside>& outside) {
    Written written, told;
    for (const Node& node : graph.nodes)
      for (const NodeAccess& access : node.accesses)
        if (access.mode != Mode::read && access.reach == Reach::exact) written[access.buffer].add(access.range);
    for (const EntryFact& entry : graph.entry)
      if (entry.fact != Fact::finite) told[entry.buffer].add(entry.range);
    for (const Outside& from : outside) {
      NodeAccess& access = graph.nodes[from.node].accesses[from.bytes.access];
      if (from.bytes.to_the_end) end_before(access.range, written[access.buffer]);
      add_entry(graph, access, from.bytes.origin, written[access.buffer], told[access.buffer]);
    }
  }

  /// What comes from outside ends where the graph's own data begins.
  static void end_before(ByteRange& range, const RangeSet& written) {
    for (const ByteRange& own : written.ranges())
      if (own.begin > range.begin) {
        range.end = std::min(range.end, own.begin);
        return;
      }
  }

  static void add_entry(Graph& graph, const NodeAccess& access, Origin origin, const RangeSet& written,
                        RangeSet& told) {
    const std::uint64_t size = graph.buffers[access.buffer].bytes;
    const ByteRange inside{std::min(access.range.begin, size), std::min(access.range.end, size)};
    for (const ByteRange& unwritten : written.missing_from(inside))
      for (const ByteRange& fresh : told.missing_from(unwritten)) {
        graph.entry.push_back(
            {Fact::written, access.buffer, fresh, origin, "a contract: it comes from outside the graph"});
        told.add(fresh);
      }
  }

  std::span<const ContractFile> files_;
  std::unordered_map<std::string, std::vector<Fit>> fits_;
  ContractCoverage coverage_;
};

}  // namespace

ContractCoverage apply_contracts(std::vector<Recording>& recordings, std::span<const ContractFile> files) {
  Applier applier(files);
  for (Recording& recording : recordings)
    for (std::size_t i = 0; i < recording.graphs.size(); ++i) {
      Graph& graph = recording.graphs[i];
      applier.run(graph, graph.name.empty() ? fmt::format("graph {}", i) : graph.name);
    }
  return applier.take();
}

}  // namespace refrain
