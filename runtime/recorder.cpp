#include "runtime/recorder.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "runtime/graph_buffers.hpp"

namespace refrain {
namespace {

bool writes(Mode mode) {
  return mode != Mode::read;
}

using Predecessors = std::vector<std::vector<std::size_t>>;

Predecessors predecessors_of(const Graph& graph) {
  Predecessors out(graph.nodes.size());
  for (const Edge& edge : graph.edges) out[edge.to].push_back(edge.from);
  return out;
}

bool holds(const std::vector<std::uint64_t>& handles, std::uint64_t handle) {
  return std::find(handles.begin(), handles.end(), handle) != handles.end();
}

/// Nodes that lead to `last` and not to what was there `before`: an op that makes several nodes made these too.
std::vector<std::size_t> earlier_nodes(const Introspection& captured, const Predecessors& predecessors,
                                       std::size_t last, const std::vector<std::uint64_t>& before) {
  std::vector<std::size_t> found, open{last};
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    for (const std::size_t from : predecessors[node]) {
      if (holds(before, captured.handles[from]) || std::find(found.begin(), found.end(), from) != found.end()) continue;
      found.push_back(from);
      open.push_back(from);
    }
  }
  return found;
}

std::vector<NodeClaim> resolve_claims(const std::vector<Claim>& claims, GraphBuffers& buffers) {
  std::vector<NodeClaim> out;
  for (const Claim& claim : claims)
    if (const auto place = buffers.resolve(claim.base))
      out.push_back({claim.fact, place->buffer, {place->offset + claim.range.begin, place->offset + claim.range.end}});
  return out;
}

/// What the driver found behind a graph's addresses gives way where the registry knows more: a lease says more than the
/// reservation that it is cut from.
void keep_unknown_memory(std::vector<Buffer>& seen, const BufferRegistry& registry) {
  std::erase_if(seen, [&](const Buffer& buffer) {
    return std::any_of(registry.all().begin(), registry.all().end(), [&](const Buffer& known) {
      return !known.died && known.base < buffer.base + buffer.bytes && buffer.base < known.base + known.bytes;
    });
  });
}

/// The pageable or pinned side of a copy: the node says itself what it is, and CUDA need not know the memory.
bool is_host_side(const Node& node, Address address) {
  const auto on_host = [](MemorySpace space) { return space == MemorySpace::pageable || space == MemorySpace::pinned; };
  return node.copy && ((address == node.copy->src && on_host(node.copy->src_space)) ||
                       (address == node.copy->dst && on_host(node.copy->dst_space)));
}

/// What a kernel of an op is handed: its Args, whose padding nobody wrote. The block of a library's kernel holds what
/// the library left there, be it old addresses: the Args stand for it.
void put_args(Node& node, const std::vector<std::uint8_t>& args) {
  if (args.empty() || node.kind != NodeKind::kernel) return;
  if (node.params.empty() || node.params.front().size != args.size())
    node.params = {{0, args.size(), args}};
  else
    node.params.front().bytes = args;
}

/// A lease that a node is handed and no contract names is one of the graph's buffers all the same.
void note_pointers(const Node& node, GraphBuffers& buffers) {
  for (const Param& param : node.params)
    for (std::size_t at = (8 - param.offset % 8) % 8; at + sizeof(Address) <= param.bytes.size(); at += 8) {
      Address address = 0;
      std::memcpy(&address, param.bytes.data() + at, sizeof address);
      buffers.note(address);
    }
}

void attach(Node& node, const Contract& contract, GraphBuffers& buffers, const Graph& graph) {
  node.has_contract = true;
  for (const Access& access : contract.accesses) {
    if (access.range.empty()) continue;
    if (is_host_side(node, access.base) && !buffers.resolve(access.base)) continue;
    const GraphBuffers::Place place = buffers.resolve_or_doubt(access.base, access.range.end);
    const Buffer& buffer = graph.buffers[place.buffer];
    NodeAccess out;
    out.buffer = place.buffer;
    out.range = {place.offset + access.range.begin, place.offset + access.range.end};
    out.mode = access.mode;
    out.reach = access.reach;
    out.role = access.role != Role::unknown ? access.role : buffer.role;
    out.dtype = access.dtype != Dtype::unknown ? access.dtype : buffer.dtype;
    out.certainty = node.kind == NodeKind::kernel ? Certainty::contract : Certainty::proven;
    out.tokens = access.tokens;
    out.before_wait = access.before_wait;
    node.accesses.push_back(out);
  }
  node.needs = resolve_claims(contract.needs, buffers);
  node.gives = resolve_claims(contract.gives, buffers);
  if (node.kind == NodeKind::kernel) {
    node.waits = contract.waits;
    node.triggers = contract.triggers;
    node.triggers_first = contract.triggers_first;
  }
}

}  // namespace

std::string Recorder::scope_path() const {
  return fmt::format("{}", fmt::join(scopes_, "/"));
}

void Recorder::start_capture() {
  marks_.clear();
  capturing_ = true;
  behind_kernel_ = false;
}

template <class Enqueue>
void Recorder::perform(const OpLaunch& op, const Contract& contract, Enqueue enqueue) {
  const ProfilerRange shown(driver_, op.name);
  const std::size_t number = launches_++;
  if (hook_) hook_(number, op.name, contract, false);
  const std::vector<std::uint64_t> before = frontier();
  behind_kernel_ = false;
  enqueue();
  if (hook_) hook_(number, op.name, contract, true);
  note(op, contract, before);
}

void Recorder::submit(const OpLaunch& op, const Contract& contract) {
  perform(op, contract, [&] { check(driver_.launch(op, stream_), op.name); });
  behind_kernel_ = true;
}

void Recorder::zero(Address to, std::uint64_t bytes) {
  const ByteRange range{0, bytes};
  const Contract contract{
      {{to, range, Mode::write, Reach::exact, Role::unknown, Dtype::unknown}}, {}, {{Fact::zeroed, to, range}}};
  perform(OpLaunch{"zero", {}, {}}, contract, [&] { check(driver_.fill(to, 0, bytes, stream_), "cudaMemsetAsync"); });
}

void Recorder::copy(Driver::Place to, Driver::Place from, std::uint64_t bytes) {
  const ByteRange range{0, bytes};
  const Contract contract{{{from.address, range, Mode::read, Reach::exact, Role::unknown, Dtype::unknown},
                           {to.address, range, Mode::write, Reach::exact, Role::unknown, Dtype::unknown}},
                          {},
                          {}};
  perform(OpLaunch{"copy", {}, {}}, contract,
          [&] { check(driver_.copy(to, from, bytes, stream_), "cudaMemcpyAsync"); });
}

std::vector<std::uint64_t> Recorder::frontier() {
  std::vector<std::uint64_t> nodes;
  if (capturing_) check(driver_.capture_frontier(stream_, nodes), "cudaStreamGetCaptureInfo");
  return nodes;
}

void Recorder::note(const OpLaunch& op, const Contract& contract, const std::vector<std::uint64_t>& before) {
  if (!capturing_) {
    keep_books(op.name, contract);
    return;
  }
  for (const std::uint64_t handle : frontier())
    if (!holds(before, handle)) marks_.try_emplace(handle, Mark{op.name, scope_path(), contract, before, op.args});
}

void Recorder::keep_books(const std::string& op, const Contract& contract) {
  const std::string by = op + ", run eagerly before the capture";
  for (const Access& access : contract.accesses) {
    if (!writes(access.mode)) continue;
    const Address begin = access.base + access.range.begin, end = access.base + access.range.end;
    forget(begin, end);
    if (access.reach == Reach::exact) add_entry({Fact::written, begin, end, Origin::initialised_once, by});
  }
  for (const Claim& claim : contract.gives)
    add_entry({claim.fact, claim.base + claim.range.begin, claim.base + claim.range.end, Origin::initialised_once, by});
}

void Recorder::entry(Fact fact, Address base, std::uint64_t bytes, Origin origin, std::string by) {
  add_entry({fact, base, base + bytes, origin, std::move(by)});
}

void Recorder::add_entry(Entry entry) {
  const auto same = [&](const Entry& e) {
    return e.fact == entry.fact && e.begin == entry.begin && e.end == entry.end && e.origin == entry.origin;
  };
  if (std::none_of(ledger_.begin(), ledger_.end(), same)) ledger_.push_back(std::move(entry));
}

/// A write destroys what only the old bytes made true; written memory stays written.
void Recorder::forget(Address begin, Address end) {
  std::vector<Entry> kept;
  for (Entry& entry : ledger_) {
    if (entry.fact == Fact::written || entry.end <= begin || end <= entry.begin) {
      kept.push_back(std::move(entry));
      continue;
    }
    if (entry.begin < begin) kept.push_back({entry.fact, entry.begin, begin, entry.origin, entry.by});
    if (end < entry.end) kept.push_back({entry.fact, end, entry.end, entry.origin, entry.by});
  }
  ledger_ = std::move(kept);
}

void Recorder::order(Stream after, Stream before) {
  Event event;
  check(driver_.create_event(event), "cudaEventCreate");
  const Status recorded = driver_.record(event, before);
  const Status waited = recorded == Status::success ? driver_.wait(after, event) : recorded;
  const Status destroyed = driver_.destroy_event(event);
  check(waited, recorded == Status::success ? "cudaStreamWaitEvent" : "cudaEventRecord");
  check(destroyed, "cudaEventDestroy");
}

void Recorder::fork(Stream side) {
  behind_kernel_ = false;
  order(side, stream_);
  forks_.push_back({stream_, side});
  stream_ = side;
}

void Recorder::join() {
  assert(!forks_.empty());
  behind_kernel_ = false;
  const Fork fork = forks_.back();
  forks_.pop_back();
  stream_ = fork.main;
  order(fork.main, fork.side);
}

Graph Recorder::describe(const Introspection& captured) const {
  Graph graph = captured.graph;
  keep_unknown_memory(graph.buffers, registry_);
  GraphBuffers buffers(driver_, registry_, graph);
  const Predecessors predecessors = predecessors_of(graph);
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    const auto mark = marks_.find(captured.handles[at]);
    if (mark == marks_.end()) continue;
    Node& node = graph.nodes[at];
    node.op = mark->second.op;
    node.scope = mark->second.scope;
    put_args(node, mark->second.args);
    attach(node, mark->second.contract, buffers, graph);
    for (const std::size_t part : earlier_nodes(captured, predecessors, at, mark->second.before)) {
      graph.nodes[part].op = node.op;
      graph.nodes[part].scope = node.scope;
      put_args(graph.nodes[part], mark->second.args);
      graph.nodes[part].has_contract = true;  // the last node of the op carries it
      graph.nodes[part].waits = node.waits;
      graph.nodes[part].triggers = node.triggers;
      graph.nodes[part].triggers_first = node.triggers_first;
    }
  }
  for (std::size_t at = 0; at < graph.nodes.size(); ++at)
    if (graph.nodes[at].has_contract) note_pointers(graph.nodes[at], buffers);
  for (const Entry& entry : ledger_) {
    const auto place = buffers.named(entry.begin);
    if (!place) continue;
    const std::uint64_t length = std::min(entry.end - entry.begin, graph.buffers[place->buffer].bytes - place->offset);
    graph.entry.push_back({entry.fact, place->buffer, {place->offset, place->offset + length}, entry.origin, entry.by});
  }
  // What others own they fill too, and the recorder can't see when.
  for (const auto& [base, id] : buffers.outside())
    graph.entry.push_back({Fact::written,
                           id,
                           {0, graph.buffers[id].bytes},
                           Origin::initialised_once,
                           "its owner, outside the runtime: taken for granted"});
  return graph;
}

}  // namespace refrain
