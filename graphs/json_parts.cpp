#include "graphs/json_parts.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kWordLimit = std::uint64_t{1} << 32;

BufferId read_buffer_id(const JsonView& view, const Graph& graph) {
  return static_cast<BufferId>(view.need("buffer").integer("a buffer id", graph.buffers.size()));
}

void check_inside(const JsonView& place, ByteRange range, std::uint64_t bytes, std::size_t buffer) {
  if (bytes > 0 && range.end > bytes)
    place.fail(fmt::format("a range inside the {} bytes of buffer {}", bytes, buffer),
               "shorten the range or correct the buffer's size");
}

ByteRange read_range(const JsonView& view, const Graph& graph, BufferId buffer) {
  const JsonView place = view.need("range");
  const ByteRange range = place.range();
  check_inside(place, range, graph.buffers[buffer].bytes, buffer);
  return range;
}

}  // namespace

Buffer read_buffer(const JsonView& view, std::size_t index) {
  view.check_object("a buffer", {"id", "name", "base", "bytes", "space", "dtype", "role", "allocation", "born", "died",
                                 "reserved", "shared"});
  check_id(view, index);
  Buffer buffer;
  read_text(view, "name", buffer.name);
  read_address(view, "base", buffer.base);
  read_size(view, "bytes", buffer.bytes);
  if (buffer.bytes != 0 && buffer.base > UINT64_MAX - (buffer.bytes - 1))
    view.need("bytes").fail("a buffer that ends below 2^64", "correct its base or its size");
  read_word(view, "space", buffer.space);
  read_word(view, "dtype", buffer.dtype);
  read_word(view, "role", buffer.role);
  read_size(view, "allocation", buffer.allocation);
  if (const auto born = view.find("born")) buffer.born = born->integer("a sequence number", kSizeLimit);
  if (const auto died = view.find("died")) buffer.died = died->integer("a sequence number", kSizeLimit);
  if (const auto reserved = view.find("reserved")) {
    buffer.reserved = reserved->range();
    check_inside(*reserved, buffer.reserved, buffer.bytes, index);
  }
  if (const auto shared = view.find("shared")) buffer.shared = shared->boolean();
  return buffer;
}

void read_dims(const JsonView& view, const char* key, Dim3& out) {
  const auto dims = view.find(key);
  if (!dims) return;
  if (dims->array_size() != 3) dims->fail("three dimensions", "write them as [x, y, z]");
  out.x = static_cast<std::uint32_t>(dims->at(0).integer("a dimension", kWordLimit));
  out.y = static_cast<std::uint32_t>(dims->at(1).integer("a dimension", kWordLimit));
  out.z = static_cast<std::uint32_t>(dims->at(2).integer("a dimension", kWordLimit));
}

Param read_param(const JsonView& view) {
  view.check_object("a parameter", {"offset", "size", "bytes"});
  Param param;
  param.offset = view.need("offset").size();
  param.size = view.need("size").size();
  if (const auto bytes = view.find("bytes")) {
    param.bytes = bytes->bytes();
    if (param.bytes.size() != param.size)
      bytes->fail(fmt::format("{} bytes", param.size), "write two digits for each byte of the size");
  }
  return param;
}

NodeAccess read_access(const JsonView& view, const Graph& graph) {
  view.check_object("an access",
                    {"buffer", "range", "mode", "reach", "role", "dtype", "certainty", "tokens", "before_wait"});
  NodeAccess access;
  access.buffer = read_buffer_id(view, graph);
  // One that reaches past the end of its buffer is the graph's fault and not the file's: rule 408 tells of it.
  access.range = view.need("range").range();
  access.mode = view.need("mode").word<Mode>();
  read_word(view, "reach", access.reach);
  read_word(view, "role", access.role);
  read_word(view, "dtype", access.dtype);
  read_word(view, "certainty", access.certainty);
  read_word(view, "tokens", access.tokens);
  if (const auto before = view.find("before_wait")) access.before_wait = before->boolean();
  return access;
}

NodeClaim read_claim(const JsonView& view, const Graph& graph) {
  view.check_object("a claim", {"fact", "buffer", "range"});
  const BufferId buffer = read_buffer_id(view, graph);
  return {view.need("fact").word<Fact>(), buffer, read_range(view, graph, buffer)};
}

EntryFact read_entry(const JsonView& view, const Graph& graph) {
  view.check_object("an entry fact", {"fact", "buffer", "range", "origin", "by"});
  EntryFact entry;
  entry.fact = view.need("fact").word<Fact>();
  entry.buffer = read_buffer_id(view, graph);
  entry.range = read_range(view, graph, entry.buffer);
  entry.origin = view.need("origin").word<Origin>();
  read_text(view, "by", entry.by);
  return entry;
}

void read_device_work(const JsonView& view, Node& node) {
  if (const auto copy = view.find("copy")) {
    copy->check_object("a copy", {"src", "dst", "bytes", "src_space", "dst_space"});
    CopyInfo& out = node.copy.emplace();
    read_address(*copy, "src", out.src);
    read_address(*copy, "dst", out.dst);
    read_size(*copy, "bytes", out.bytes);
    read_word(*copy, "src_space", out.src_space);
    read_word(*copy, "dst_space", out.dst_space);
  }
  if (const auto fill = view.find("fill")) {
    fill->check_object("a fill", {"dst", "bytes", "value", "element_bytes"});
    FillInfo& out = node.fill.emplace();
    read_address(*fill, "dst", out.dst);
    read_size(*fill, "bytes", out.bytes);
    if (const auto value = fill->find("value"))
      out.value = static_cast<std::uint32_t>(value->integer("a value", kWordLimit));
    if (const auto bytes = fill->find("element_bytes"))
      out.element_bytes = static_cast<std::uint32_t>(bytes->integer("an element's size", kWordLimit));
  }
  if (const auto allocation = view.find("allocation")) {
    allocation->check_object("an allocation", {"address", "bytes"});
    AllocationInfo& out = node.allocation.emplace();
    read_address(*allocation, "address", out.address);
    read_size(*allocation, "bytes", out.bytes);
  }
}

CaptureInfo read_capture(const JsonView& view) {
  view.check_object("capture information", {"phase", "bucket", "mode", "device", "driver", "toolkit", "unseen"});
  CaptureInfo capture;
  read_text(view, "phase", capture.phase);
  read_text(view, "bucket", capture.bucket);
  read_text(view, "mode", capture.mode);
  read_text(view, "device", capture.device);
  read_text(view, "driver", capture.driver);
  read_text(view, "toolkit", capture.toolkit);
  each(view, "unseen", [&](const JsonView& what, std::size_t) { capture.unseen.push_back(what.word<Unseen>()); });
  return capture;
}

}  // namespace refrain
