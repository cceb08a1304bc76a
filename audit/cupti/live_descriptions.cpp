#include "audit/cupti/live_descriptions.hpp"

#include <fmt/format.h>

#include <exception>
#include <iterator>
#include <utility>

#include "graphs/error.hpp"
#include "graphs/text.hpp"
#include "traces/record_json.hpp"

namespace refrain {
namespace {

[[noreturn]] void refuse(std::string what, std::string why) {
  throw Error(ErrorKind::input, std::move(what), std::move(why), "a description by the program");
}

}  // namespace

/// One record, from the reader of recordings to the function for its type.
class LiveDescriptions::Reader final : public RecordSink {
 public:
  explicit Reader(LiveDescriptions& out) : out_(out) {}

  void buffer(const Buffer& buffer) override { out_.buffer(buffer); }
  void binding(const BindingEvent& event, std::string_view name) override { out_.binding(event, name); }
  void graph(Graph&& graph, std::optional<GraphTie> tie) override {
    if (!tie) refuse("a graph", "expected the handle of the cudaGraph_t, found none; add seq and handle");
    out_.graph(tie->handle, std::move(graph));
  }

  void header(const RecordingHeader&) override {}
  void call(const ApiEvent&, std::string_view) override {}
  void range(const RangeEvent&, std::string_view) override {}
  void check(const ReplayCheck&, std::string_view, std::string_view, std::string_view) override {}
  void work(const WorkEvent&, std::string_view) override {}
  void graph_node(const GraphNodeEvent&) override {}
  void limit(const EvidenceLimit&) override {}
  void problem(const ReadProblem&) override {}
  void end(bool) override {}

 private:
  LiveDescriptions& out_;
};

void LiveDescriptions::listen(CallStream& stream) {
  stream_ = &stream;
  // What was there before the window has no birth in it.
  for (auto& [base, known] : alive_) known.buffer.born.reset();
  for (const auto& [name, event] : bindings_) stream_->add_binding(event, name);
}

void LiveDescriptions::unlisten() {
  if (stream_ == nullptr) return;
  for (const auto& [base, known] : alive_) stream_->add_buffer(known.buffer);
  stream_ = nullptr;
}

LiveDescriptions::Refused LiveDescriptions::take_refused() {
  return std::exchange(refused_, {});
}

bool LiveDescriptions::take(std::string_view records) {
  const std::uint64_t before = refused_.count;
  while (!records.empty()) {
    const std::size_t end = records.find('\n');
    const std::string_view line = trim(records.substr(0, end));
    records.remove_prefix(end == std::string_view::npos ? records.size() : end + 1);
    if (line.empty()) continue;
    try {
      record(line);
    } catch (const std::exception& error) {
      if (refused_.count++ == 0) refused_.first = error.what();
    }
  }
  return refused_.count == before;
}

void LiveDescriptions::record(std::string_view line) {
  fields_.parse(line);
  const std::string type(fields_.text("type").value_or(""));
  if (type != "buffer" && type != "binding" && type != "graph")
    refuse("type", fmt::format("expected buffer, binding or graph, found \"{}\"; drop the record", excerpt(type)));
  Reader reader(*this);
  find_record_type(type)->read(fields_, reader);
}

void LiveDescriptions::buffer(const Buffer& buffer) {
  if (buffer.base == 0 || buffer.bytes == 0)
    refuse("a buffer", fmt::format("expected the base and the bytes of {}, found none", excerpt(buffer.name)));
  if (!buffer.died) return birth(buffer);
  if (!is_known(buffer))
    refuse("died", fmt::format("expected a buffer that was described before, found {} at 0x{:x}; describe it when it "
                               "is taken",
                               excerpt(buffer.name), buffer.base));
  retire(alive_.find(buffer.base));
}

bool LiveDescriptions::is_known(const Buffer& buffer) const {
  const auto known = alive_.find(buffer.base);
  return known != alive_.end() && known->second.allocation == buffer.allocation;
}

void LiveDescriptions::birth(const Buffer& buffer) {
  // Bytes that are handed out again were given back, told or not.
  const Address last = buffer.base + (buffer.bytes - 1);
  auto at = alive_.lower_bound(buffer.base);
  if (at != alive_.begin() && buffer.base - std::prev(at)->first < std::prev(at)->second.buffer.bytes) --at;
  while (at != alive_.end() && at->first <= last) retire(at++);
  Known known{buffer.allocation, buffer};
  known.buffer.allocation = ++numbers_;
  known.buffer.born.reset();
  if (stream_ != nullptr) known.buffer.born = stream_->tick();
  alive_.insert_or_assign(buffer.base, std::move(known));
}

void LiveDescriptions::retire(std::map<Address, Known>::iterator known) {
  if (stream_ != nullptr) {
    known->second.buffer.died = stream_->tick();
    stream_->add_buffer(known->second.buffer);
  }
  alive_.erase(known);
}

void LiveDescriptions::binding(const BindingEvent& event, std::string_view name) {
  if (name.empty() || event.address == 0)
    refuse("a binding", "expected the name of an input and where it stands from here on; give both");
  bindings_.insert_or_assign(std::string(name), event);
  if (stream_ != nullptr) stream_->add_binding(event, name);
}

/// The graph's buffers under the auditor's numbers; one that was not described before is from here on.
void LiveDescriptions::number_buffers(Graph& graph) {
  for (Buffer& buffer : graph.buffers) {
    buffer.born.reset();
    buffer.died.reset();
    if (buffer.allocation == 0 || is_driver_allocation(buffer.allocation)) continue;
    if (!is_known(buffer)) this->buffer(buffer);
    buffer = alive_.at(buffer.base).buffer;
  }
  for (Node& node : graph.nodes)
    for (Graph& body : node.bodies) number_buffers(body);
}

void LiveDescriptions::graph(std::uint64_t handle, Graph&& graph) {
  if (stream_ == nullptr) return;  // its capture was not seen, so its launches are rule 801's
  number_buffers(graph);
  const std::string why = stream_->describe(handle, std::move(graph));
  if (!why.empty()) refuse(fmt::format("the graph of handle 0x{:x}", handle), why);
}

}  // namespace refrain
