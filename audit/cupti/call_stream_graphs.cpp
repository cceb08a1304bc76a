// The graphs of a CallStream: read from the driver, joined with what the program says
// of them, and searched for the addresses that their nodes are handed.
#include <cstring>
#include <utility>

#include "audit/cupti/call_stream.hpp"
#include "audit/cupti/join_description.hpp"
#include "graphs/error.hpp"
#include "graphs/live_buffers.hpp"

namespace refrain {

void CallStream::follow_graphs(const LiveCall& call, const ApiEvent& event) {
  switch (event.api) {
    case Api::add_child_graph_node: graphs_.edited(); break;
    case Api::graph_destroy: graphs_.forget_graph(call.object); break;
    case Api::graph_exec_destroy: graphs_.forget_exec(call.object); break;
    case Api::graph_exec_update: graphs_.updated(call.object, event.made); break;
    case Api::stream_destroy: streams_.erase(call.stream); break;
    case Api::event_destroy: captures_.record(kNoStream, call.object); break;
    default: break;
  }
}

void CallStream::read_graph(std::uint64_t handle, std::uint64_t thread) {
  try {
    Graph graph = graphs_.read(driver_, handle);
    const std::uint64_t number = graphs_.read_as(handle, graph);
    const auto [tie, fresh] = ties_.try_emplace(number);
    if (!fresh) return;  // it is as it was: an edit was of another graph
    tie->second = tick();
    memory_.watch(number, graph, thread);
    note_pointers(graph);
    sink_.graph(std::move(graph), GraphTie{tie->second, number});
  } catch (const Error&) {
    ++unread_;  // without a record that ties it, its launches are rule 801's
  }
}

void CallStream::note_pointers(const Graph& graph) {
  const LiveBuffers buffers(graph);
  const auto note = [&](Address address) {
    if (buffers.at(address)) pointers_.insert(address);
  };
  for (const Node& node : graph.nodes) {
    for (const Param& param : node.params)
      for (std::size_t at = (8 - param.offset % 8) % 8; at + sizeof(Address) <= param.bytes.size(); at += 8) {
        Address address = 0;
        std::memcpy(&address, param.bytes.data() + at, sizeof address);
        note(address);
      }
    if (node.copy) note(node.copy->src), note(node.copy->dst);
    if (node.fill) note(node.fill->dst);
    for (const Graph& body : node.bodies) note_pointers(body);
  }
}

bool CallStream::leads_into(Address address, std::uint64_t bytes) const {
  const auto first = pointers_.lower_bound(address);
  return first != pointers_.end() && *first - address < bytes;
}

void CallStream::add_binding(BindingEvent event, std::string_view name) {
  event.sequence = tick();
  sink_.binding(event, name);
}

std::string CallStream::describe(std::uint64_t handle, Graph&& description) {
  // No handle that is not known to be a graph's goes to the driver, which would take its word for it.
  if (!graphs_.knows(handle)) return "no graph of this handle was captured or instantiated while the auditor listened";
  if (graphs_.number_of(handle) == 0) read_graph(handle, 0);  // some graph was changed since, perhaps this one
  const auto tie = ties_.find(graphs_.number_of(handle));
  if (tie == ties_.end()) return "the driver does not let the graph be read";
  Graph graph = graphs_.read(driver_, handle);
  std::string why = join_description(graph, std::move(description));
  if (!why.empty()) return why;
  memory_.described(tie->first, graph);
  sink_.graph(std::move(graph), GraphTie{tie->second, tie->first});
  return {};
}

}  // namespace refrain
