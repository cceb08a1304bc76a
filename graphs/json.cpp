// A Graph as refrain.graph/1: what is unset is left out, and each node, edge and
// buffer stands on one line, so that a diff of two files is a diff of two graphs.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graphs/readers.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(Address address) {
  return fmt::format("0x{:x}", address);
}

void put_text(Json& out, const char* key, const std::string& text) {
  if (!text.empty()) out[key] = text;
}

Json range_json(const ByteRange& range) {
  return Json::array({range.begin, range.end});
}

Json param_json(const Param& param) {
  std::string bytes;
  for (const std::uint8_t byte : param.bytes) bytes += fmt::format("{:02x}", byte);
  Json out{{"offset", param.offset}, {"size", param.size}};
  put_text(out, "bytes", bytes);
  return out;
}

Json access_json(const NodeAccess& access) {
  Json out{{"buffer", access.buffer},
           {"range", range_json(access.range)},
           {"mode", to_string(access.mode)},
           {"reach", to_string(access.reach)},
           {"role", to_string(access.role)},
           {"dtype", to_string(access.dtype)},
           {"certainty", to_string(access.certainty)}};
  if (access.tokens != CacheTokens::any) out["tokens"] = to_string(access.tokens);
  if (access.before_wait) out["before_wait"] = true;
  return out;
}

Json claim_json(const NodeClaim& claim) {
  return {{"fact", to_string(claim.fact)}, {"buffer", claim.buffer}, {"range", range_json(claim.range)}};
}

Json copy_json(const CopyInfo& copy) {
  return {{"src", hex(copy.src)},
          {"dst", hex(copy.dst)},
          {"bytes", copy.bytes},
          {"src_space", to_string(copy.src_space)},
          {"dst_space", to_string(copy.dst_space)}};
}

Json fill_json(const FillInfo& fill) {
  return {{"dst", hex(fill.dst)}, {"bytes", fill.bytes}, {"value", fill.value}, {"element_bytes", fill.element_bytes}};
}

template <class T, class Make>
void put_list(Json& out, const char* key, const std::vector<T>& values, Make make) {
  if (values.empty()) return;
  Json list = Json::array();
  for (const T& value : values) list.push_back(make(value));
  out[key] = std::move(list);
}

void put_dims(Json& out, const char* key, const Dim3& dims, NodeKind kind) {
  if (kind == NodeKind::kernel || dims != Dim3{}) out[key] = Json::array({dims.x, dims.y, dims.z});
}

Json graph_json(const Graph& graph);

Json node_json(const Node& node, std::size_t id) {
  Json out{{"id", id}, {"kind", to_string(node.kind)}};
  put_text(out, "name", node.name);
  put_text(out, "mangled", node.mangled);
  put_dims(out, "grid", node.grid, node.kind);
  put_dims(out, "block", node.block, node.kind);
  if (node.shared_bytes != 0) out["shared_bytes"] = node.shared_bytes;
  put_list(out, "params", node.params, param_json);
  put_text(out, "op", node.op);
  if (node.has_contract) out["contract"] = true;
  put_list(out, "accesses", node.accesses, access_json);
  put_list(out, "needs", node.needs, claim_json);
  put_list(out, "gives", node.gives, claim_json);
  if (node.waits) out["waits"] = *node.waits;
  if (node.triggers) out["triggers"] = *node.triggers;
  if (node.triggers_first) out["triggers_first"] = *node.triggers_first;
  if (node.copy) out["copy"] = copy_json(*node.copy);
  if (node.fill) out["fill"] = fill_json(*node.fill);
  if (node.allocation)
    out["allocation"] = {{"address", hex(node.allocation->address)}, {"bytes", node.allocation->bytes}};
  put_list(out, "bodies", node.bodies, graph_json);
  put_text(out, "scope", node.scope);
  put_text(out, "call_site", node.call_site);
  return out;
}

Json edge_json(const Edge& edge) {
  return {{"from", edge.from}, {"to", edge.to}, {"kind", to_string(edge.kind)}};
}

Json buffer_json(const Buffer& buffer, std::size_t id) {
  Json out{{"id", id}};
  put_text(out, "name", buffer.name);
  out["base"] = hex(buffer.base);
  out["bytes"] = buffer.bytes;
  out["space"] = to_string(buffer.space);
  out["dtype"] = to_string(buffer.dtype);
  out["role"] = to_string(buffer.role);
  if (buffer.allocation != 0) out["allocation"] = buffer.allocation;
  if (buffer.born) out["born"] = *buffer.born;
  if (buffer.died) out["died"] = *buffer.died;
  if (!buffer.reserved.empty()) out["reserved"] = range_json(buffer.reserved);
  if (buffer.shared) out["shared"] = true;
  return out;
}

Json entry_json(const EntryFact& entry) {
  Json out{{"fact", to_string(entry.fact)},
           {"buffer", entry.buffer},
           {"range", range_json(entry.range)},
           {"origin", to_string(entry.origin)}};
  put_text(out, "by", entry.by);
  return out;
}

Json capture_json(const CaptureInfo& capture) {
  Json out = Json::object();
  put_text(out, "phase", capture.phase);
  put_text(out, "bucket", capture.bucket);
  put_text(out, "mode", capture.mode);
  put_text(out, "device", capture.device);
  put_text(out, "driver", capture.driver);
  put_text(out, "toolkit", capture.toolkit);
  put_list(out, "unseen", capture.unseen, [](Unseen what) { return Json(to_string(what)); });
  return out;
}

Json graph_json(const Graph& graph) {
  Json out{{"name", graph.name}, {"capture", capture_json(graph.capture)}};
  Json& nodes = out["nodes"] = Json::array();
  for (const Node& node : graph.nodes) nodes.push_back(node_json(node, nodes.size()));
  Json& edges = out["edges"] = Json::array();
  for (const Edge& edge : graph.edges) edges.push_back(edge_json(edge));
  Json& buffers = out["buffers"] = Json::array();
  for (const Buffer& buffer : graph.buffers) buffers.push_back(buffer_json(buffer, buffers.size()));
  Json& entry = out["entry"] = Json::array();
  for (const EntryFact& fact : graph.entry) entry.push_back(entry_json(fact));
  out["notes"] = graph.notes;
  return out;
}

// A name from a dump may hold bytes that are not UTF-8; they become U+FFFD rather than an exception.
std::string line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string write_graph_json(const Graph& graph) {
  std::string out = "{\n  \"schema\": \"refrain.graph/1\"";
  const Json root = graph_json(graph);
  for (const auto& [key, value] : root.items()) {
    out += fmt::format(",\n  \"{}\": ", key);
    if (!value.is_array() || value.empty()) {
      out += line(value);
      continue;
    }
    out += "[";
    for (std::size_t i = 0; i < value.size(); ++i) out += (i == 0 ? "\n    " : ",\n    ") + line(value[i]);
    out += "\n  ]";
  }
  return out + "\n}\n";
}

}  // namespace refrain
