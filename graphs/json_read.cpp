// refrain.graph/1 into a Graph. Everything that the schema does not say is
// refused, unknown keys too: a misspelt `needs` that was skipped would turn a
// broken graph into a clean one.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graphs/error.hpp"
#include "graphs/json_parts.hpp"
#include "graphs/readers.hpp"
#include "graphs/text.hpp"
#include "graphs/topology.hpp"

namespace refrain {
namespace {

// A body lies four brackets below its graph (graph, nodes, node, bodies); the rest is for what a node holds.
constexpr std::size_t kMaxBrackets = 4 * kMaxGraphNesting + 8;

[[noreturn]] void fail_at(const std::string& file, std::size_t byte, const std::string& sentence) {
  throw Error(ErrorKind::input, fmt::format("byte {}", byte), sentence, file);
}

// Before the parser sees the text, so that a hostile file cannot make it build a deep tree.
void check_nesting(std::string_view text, const std::string& file) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (depth > kMaxBrackets)
      fail_at(file, i + 1,
              fmt::format("expected at most {} brackets inside each other ({} levels of bodies), found more; flatten "
                          "the graph",
                          kMaxBrackets, kMaxGraphNesting));
  }
}

nlohmann::json parse(std::string_view text, const std::string& file) {
  if (trim(skip_byte_order_mark(text)).empty())
    throw Error(ErrorKind::input, "", "expected a refrain.graph/1 object, found an empty file; write the graph again",
                file);
  check_nesting(text, file);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    if (error.byte > text.size())
      fail_at(file, text.size(), "expected more JSON, found the end of the file; it is cut short, write it again");
    fail_at(file, error.byte, "expected JSON, found a syntax error; mend this byte or write the file again");
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::input, "", "expected numbers below 2^63, found one that no number type holds; mend it",
                file);
  }
}

Graph read_graph(const JsonView& view, const std::string& file, std::size_t level);

void read_bodies(const JsonView& view, const std::string& file, std::size_t level, Node& node) {
  each(view, "bodies", [&](const JsonView& body, std::size_t) {
    if (node.kind != NodeKind::child && node.kind != NodeKind::conditional)
      body.fail("bodies on a child or conditional node only", "correct the node's kind or drop its bodies");
    if (level >= kMaxGraphNesting)
      body.fail(fmt::format("at most {} levels of bodies", kMaxGraphNesting), "flatten the graph");
    node.bodies.push_back(read_graph(body, file, level + 1));
  });
}

Node read_node(const JsonView& view, const std::string& file, std::size_t level, const Graph& graph,
               std::size_t index) {
  view.check_object("a node",
                    {"id",   "kind",     "name",       "mangled", "grid",  "block",    "shared_bytes", "params",
                     "op",   "contract", "accesses",   "needs",   "gives", "waits",    "triggers",     "triggers_first",
                     "copy", "fill",     "allocation", "bodies",  "scope", "call_site"});
  check_id(view, index);
  Node node;
  node.kind = view.need("kind").word<NodeKind>();
  read_text(view, "name", node.name);
  read_text(view, "mangled", node.mangled);
  read_dims(view, "grid", node.grid);
  read_dims(view, "block", node.block);
  read_size(view, "shared_bytes", node.shared_bytes);
  each(view, "params", [&](const JsonView& param, std::size_t) { node.params.push_back(read_param(param)); });
  read_text(view, "op", node.op);
  if (const auto contract = view.find("contract")) node.has_contract = contract->boolean();
  each(view, "accesses",
       [&](const JsonView& access, std::size_t) { node.accesses.push_back(read_access(access, graph)); });
  each(view, "needs", [&](const JsonView& claim, std::size_t) { node.needs.push_back(read_claim(claim, graph)); });
  each(view, "gives", [&](const JsonView& claim, std::size_t) { node.gives.push_back(read_claim(claim, graph)); });
  if (const auto waits = view.find("waits")) node.waits = waits->boolean();
  if (const auto triggers = view.find("triggers")) node.triggers = triggers->boolean();
  if (const auto first = view.find("triggers_first")) node.triggers_first = first->boolean();
  read_device_work(view, node);
  read_bodies(view, file, level, node);
  read_text(view, "scope", node.scope);
  read_text(view, "call_site", node.call_site);
  return node;
}

void read_edges(const JsonView& view, const std::string& file, Graph& graph) {
  (void)view.need("edges");
  each(view, "edges", [&](const JsonView& place, std::size_t) {
    place.check_object("an edge", {"from", "to", "kind"});
    Edge edge;
    edge.from = static_cast<NodeId>(place.need("from").integer("a node id", graph.nodes.size()));
    edge.to = static_cast<NodeId>(place.need("to").integer("a node id", graph.nodes.size()));
    read_word(place, "kind", edge.kind);
    graph.edges.push_back(edge);
  });
  try {
    const Topology acyclic(graph, 0);
  } catch (const Error& error) {
    throw Error(ErrorKind::input, graph.name.empty() ? "edges" : "edges of " + excerpt(graph.name), error.came_back(),
                file);
  }
}

void check_schema(const JsonView& view, bool outermost) {
  const auto schema = outermost ? view.need("schema") : view.find("schema");
  if (schema && schema->text() != "refrain.graph/1")
    schema->fail("\"refrain.graph/1\"", "read the file with a version that knows its schema");
}

Graph read_graph(const JsonView& view, const std::string& file, std::size_t level) {
  view.check_object("a graph", {"schema", "name", "capture", "nodes", "edges", "buffers", "entry", "notes"});
  check_schema(view, level == 0);
  Graph graph;
  read_text(view, "name", graph.name);
  if (const auto capture = view.find("capture")) graph.capture = read_capture(*capture);
  each(view, "buffers",
       [&](const JsonView& buffer, std::size_t i) { graph.buffers.push_back(read_buffer(buffer, i)); });
  (void)view.need("nodes");
  each(view, "nodes",
       [&](const JsonView& node, std::size_t i) { graph.nodes.push_back(read_node(node, file, level, graph, i)); });
  read_edges(view, file, graph);
  each(view, "entry", [&](const JsonView& entry, std::size_t) { graph.entry.push_back(read_entry(entry, graph)); });
  each(view, "notes", [&](const JsonView& note, std::size_t) { graph.notes.push_back(note.text()); });
  return graph;
}

}  // namespace

Graph read_graph_json(std::string_view text, const std::string& file) {
  const nlohmann::json root = parse(text, file);
  Graph graph = read_graph(JsonView(root, file), file, 0);
  attach_known_accesses(graph);
  return graph;
}

}  // namespace refrain
