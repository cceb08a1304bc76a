#include "tests/cupti/live_world.hpp"

#include <cstring>
#include <utility>

#include "graphs/error.hpp"

namespace refrain::test {

std::optional<Buffer> FakeDriver::identify(Address address) {
  const auto next = memory.upper_bound(address);
  if (next == memory.begin()) return std::nullopt;
  const Buffer& buffer = std::prev(next)->second;
  if (address - buffer.base >= buffer.bytes) return std::nullopt;
  return buffer;
}

WalkedGraph FakeDriver::walk(std::uint64_t graph) {
  const auto known = graphs.find(graph);
  if (known == graphs.end()) throw Error(ErrorKind::driver, "cudaGraphGetNodes", "cudaErrorInvalidValue (1)", "", 1);
  return known->second;
}

Buffer FakeDriver::allocate(Address base, std::uint64_t bytes, MemorySpace space) {
  Buffer buffer;
  buffer.base = base;
  buffer.bytes = bytes;
  buffer.space = space;
  buffer.allocation = driver_allocation(++allocations_);
  buffer.name = "allocation " + std::to_string(allocations_);
  return memory[base] = buffer;
}

LiveWorld::LiveWorld(PointerChecks checks, bool first_uses) : stream_(builder, fake, {checks, 1000, first_uses}) {
  builder.header({"live", {}});
  descriptions.listen(stream_);
  blocks.listen(stream_);
}

LiveCall LiveWorld::filled(std::string_view name, LiveCall call) {
  if (call.kind == LiveKind::call) call.name = find_api(name).value();
  call.thread = thread;
  call.time_ns = time_ += 10;
  return call;
}

void LiveWorld::runtime(std::string_view name, const LiveCall& call, std::string_view inner) {
  LiveCall outer = filled(name, call);
  outer.correlation = ++correlation_;
  LiveCall before = outer;
  before.code = 0;
  stream_.enter(before);
  if (!inner.empty()) {
    LiveCall nested = filled(inner, call);
    nested.correlation = outer.correlation;
    nested.from_driver = true;
    stream_.enter(nested);
    stream_.exit(nested);
  }
  outer.time_ns = time_ += 10;
  // CUDA writes the old mode where the new one stood.
  if (outer.name.api == Api::exchange_capture_mode) outer.mode = CaptureMode::global;
  stream_.exit(outer);
}

void LiveWorld::driver(std::string_view name, LiveCall call) {
  call = filled(name, call);
  call.from_driver = true;
  call.correlation = ++correlation_;
  stream_.enter(call);
  stream_.exit(call);
}

void LiveWorld::edit(LiveKind kind, LiveCall call) {
  call.kind = kind;
  call = filled("", call);
  call.correlation = ++correlation_;
  stream_.enter(call);
  stream_.exit(call);
}

void LiveWorld::begin(std::uint64_t stream, CaptureMode mode) {
  runtime("cudaStreamBeginCapture_v10000", {.stream = stream, .mode = mode}, "cuStreamBeginCapture_v2");
}

void LiveWorld::end(std::uint64_t stream, std::uint64_t graph, std::int32_t code) {
  runtime("cudaStreamEndCapture_v10000", {.stream = stream, .made = graph, .code = code}, "cuStreamEndCapture");
}

void LiveWorld::launch(std::uint64_t stream, std::uint64_t function, std::int32_t code) {
  runtime("cudaLaunchKernel_v7000", {.stream = stream, .code = code, .function = function, .symbol = "_Z4stepPf"},
          "cuLaunchKernel");
}

void LiveWorld::instantiate(std::uint64_t graph, std::uint64_t exec) {
  runtime("cudaGraphInstantiate_v12000", {.object = graph, .made = exec}, "cuGraphInstantiateWithFlags");
}

void LiveWorld::replay(std::uint64_t exec, std::uint64_t stream) {
  runtime("cudaGraphLaunch_v10000", {.stream = stream, .object = exec}, "cuGraphLaunch");
}

void LiveWorld::allocate(Address base, std::uint64_t bytes) {
  fake.allocate(base, bytes);
  runtime("cudaMalloc_v3020", {.address = base, .bytes = bytes}, "cuMemAlloc_v2");
}

void LiveWorld::free(Address base) {
  LiveCall call = filled("cudaFree_v3020", {.address = base});
  call.correlation = ++correlation_;
  stream_.enter(call);
  fake.release(base);
  stream_.exit(call);
}

Recording LiveWorld::recording(std::vector<EvidenceLimit> limits) {
  descriptions.unlisten();
  blocks.unlisten();
  if (!stream_.allocator_followed() && allocator)
    limits.push_back({std::string(kCachingAllocator), "tensors are not seen as freed", 1});
  stream_.finish(std::move(limits));
  return builder.take();
}

WalkedGraph kernel_over(const Buffer& buffer) {
  WalkedGraph walked;
  Node node;
  node.name = "step(float*)";
  std::vector<std::uint8_t> bytes(sizeof(Address));
  std::memcpy(bytes.data(), &buffer.base, sizeof(Address));
  node.params = {{0, sizeof(Address), std::move(bytes)}};
  walked.graph.nodes.push_back(std::move(node));
  walked.graph.buffers.push_back(buffer);
  walked.handles = {0xabc};
  return walked;
}

}  // namespace refrain::test
