#include "runtime/recorder.hpp"

#include <algorithm>
#include <cstring>

#include "graphs/topology.hpp"
#include "runtime/arena.hpp"
#include "runtime/capture.hpp"
#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

struct CountArgs {
  std::int32_t* counters = nullptr;
  std::uint64_t count = 0;
};

const Op<CountArgs> count_op{"count",
                             [](const CountArgs& a) {
                               return Contract{
                                   {touch(a.counters, a.count, Mode::accumulate, Role::scratch, Dtype::i32)},
                                   {claim(Fact::zeroed, a.counters, a.count * 4)},
                                   {}};
                             },
                             [](const CountArgs& a) {
                               for (std::uint64_t i = 0; i < a.count; ++i) ++a.counters[i];
                             },
                             nullptr};

Stream new_stream(Driver& driver) {
  Stream stream;
  check(driver.create_stream(stream), "cudaStreamCreateWithFlags");
  return stream;
}

struct Fixture {
  Graph capture_counting(bool zero_inside) {
    CaptureScope scope(recorder, CaptureMode::global);
    if (zero_inside) recorder.zero(lease.address(), 64);
    const auto named = recorder.scope("layer");
    recorder.launch(count_op, args);
    return scope.finish("step", {}).graph;
  }
  HostDriver driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena{driver, registry, 1 << 16};
  Lease lease = arena.lease({"counters", 64, Role::scratch, Dtype::i32});
  Stream stream = new_stream(driver), side = new_stream(driver);
  Recorder recorder{driver, registry, stream};
  CountArgs args{lease.as<std::int32_t>(), 16};
};

/// A driver whose kernels are a library's: their parameter blocks hold an address that a launch before has left there.
class LibraryDriver final : public Driver {
 public:
  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override { return inner_.submit(call); }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    const Status status = inner_.introspect(graph, out);
    for (Node& node : out.graph.nodes) {
      node.params = {{0, 40, std::vector<std::uint8_t>(40, 0x5A)}};
      std::memcpy(node.params[0].bytes.data() + 8, &left_behind, sizeof left_behind);
    }
    return status;
  }
  Address left_behind = 0;

 private:
  HostDriver inner_;
};

bool zeroed_at_entry(const Graph& graph) {
  return std::any_of(graph.entry.begin(), graph.entry.end(), [](const EntryFact& e) { return e.fact == Fact::zeroed; });
}

}  // namespace

TEST_CASE("recorder: a captured op's contract stands on the node that its launch made, resolved to buffers") {
  Fixture f;
  const Graph graph = f.capture_counting(true);
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].kind == NodeKind::memset);
  CHECK(graph.nodes[0].gives.at(0).fact == Fact::zeroed);
  const Node& count = graph.nodes[1];
  CHECK(count.op == "count");
  CHECK(count.scope == "layer");
  CHECK(count.has_contract);
  REQUIRE(count.accesses.size() == 1);
  CHECK(graph.buffers.at(count.accesses[0].buffer).name == "counters");
  CHECK(count.accesses[0].range == ByteRange{0, 64});
  CHECK(count.needs.at(0).range == ByteRange{0, 64});
}

TEST_CASE("recorder: what eager work left true becomes an entry fact, initialised once") {
  Fixture f;
  f.recorder.zero(f.lease.address(), 64);
  const Graph graph = f.capture_counting(false);
  REQUIRE(zeroed_at_entry(graph));
  for (const EntryFact& entry : graph.entry) CHECK(entry.origin == Origin::initialised_once);
}

TEST_CASE("recorder: an eager write takes back what the old bytes made true") {
  Fixture f;
  f.recorder.zero(f.lease.address(), 64);
  f.recorder.launch(count_op, f.args);
  CHECK_FALSE(zeroed_at_entry(f.capture_counting(false)));
}

TEST_CASE("recorder: the same step code runs eagerly outside a capture") {
  Fixture f;
  f.recorder.zero(f.lease.address(), 64);
  f.recorder.launch(count_op, f.args);
  f.recorder.launch(count_op, f.args);
  CHECK(f.args.counters[15] == 2);
}

TEST_CASE("recorder: fork and join order the side branch after what came before and before what comes after") {
  Fixture f;
  CaptureScope scope(f.recorder, CaptureMode::global);
  f.recorder.launch(count_op, f.args);
  f.recorder.fork(f.side);
  f.recorder.launch(count_op, f.args);
  f.recorder.join();
  f.recorder.launch(count_op, f.args);
  const Graph graph = scope.finish("step", {}).graph;
  REQUIRE(graph.nodes.size() == 3);
  const Topology topology(graph);
  CHECK(topology.before(0, 1));
  CHECK(topology.before(1, 2));
  for (const Node& node : graph.nodes) CHECK(node.op == "count");
}

TEST_CASE("recorder: an op that makes several nodes carries its contract on the last and owns the others") {
  // A driver whose launches make two nodes each, as an op of two kernels does on CUDA.
  struct TwoNodes final : Driver {
    HostDriver inner;
    [[nodiscard]] DeviceInfo device() const override { return inner.device(); }
    [[nodiscard]] Status submit(Call& call) override {
      if (call.api == Api::launch_kernel) {
        const OpLaunch first{"first half", [] {}, {}};
        Call extra{.api = Api::launch_kernel, .stream = call.stream, .op = &first};
        check(inner.submit(extra), "launch");
      }
      return inner.submit(call);
    }
    [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
      return inner.introspect(graph, out);
    }
    [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner.identify(address, out); }
  } driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena(driver, registry, 4096);
  const Lease lease = arena.lease({"counters", 64, Role::scratch, Dtype::i32});
  Recorder recorder(driver, registry, new_stream(driver));
  CaptureScope scope(recorder, CaptureMode::global);
  recorder.launch(count_op, CountArgs{lease.as<std::int32_t>(), 16});
  recorder.launch(count_op, CountArgs{lease.as<std::int32_t>(), 16});
  const Graph graph = scope.finish("step", {}).graph;
  REQUIRE(graph.nodes.size() == 4);
  for (const Node& node : graph.nodes) {
    CHECK(node.op == "count");
    CHECK(node.has_contract);
  }
  CHECK(graph.nodes[0].accesses.empty());
  CHECK(graph.nodes[1].accesses.size() == 1);
  CHECK(graph.nodes[2].accesses.empty());
  CHECK(graph.nodes[3].accesses.size() == 1);
}

TEST_CASE("recorder: an address that neither the arena nor the driver knows becomes a buffer of unknown space") {
  Fixture f;
  std::vector<std::int32_t> mine(16);
  CaptureScope scope(f.recorder, CaptureMode::global);
  f.recorder.launch(count_op, CountArgs{mine.data(), 16});
  const Graph graph = scope.finish("step", {}).graph;
  REQUIRE(graph.nodes[0].accesses.size() == 1);
  const Buffer& buffer = graph.buffers[graph.nodes[0].accesses[0].buffer];
  CHECK(buffer.space == MemorySpace::unknown);
  CHECK(buffer.base == reinterpret_cast<Address>(mine.data()));
  CHECK(buffer.bytes == 64);
}

TEST_CASE("recorder: memory of others at the address of a lease that is gone is not taken for the lease") {
  // A driver that finds an allocation behind a word of the graph, as introspection does on CUDA.
  struct Seeing final : Driver {
    HostDriver inner;
    Buffer seen;
    [[nodiscard]] DeviceInfo device() const override { return inner.device(); }
    [[nodiscard]] Status submit(Call& call) override { return inner.submit(call); }
    [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
      const Status status = inner.introspect(graph, out);
      out.graph.buffers.push_back(seen);
      return status;
    }
    [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner.identify(address, out); }
  } driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena(driver, registry, 4096);
  const Lease kept = arena.lease({"counters", 64, Role::scratch, Dtype::i32});
  Lease gone = arena.lease({"gone", 64, Role::scratch, Dtype::i32});
  driver.seen.base = gone.address();
  driver.seen.bytes = 64;
  driver.seen.allocation = driver_allocation(99);
  const auto capture = [&] {
    Recorder recorder(driver, registry, new_stream(driver));
    CaptureScope scope(recorder, CaptureMode::global);
    recorder.launch(count_op, CountArgs{kept.as<std::int32_t>(), 16});
    const Graph graph = scope.finish("step", {}).graph;
    std::size_t found = 0;
    for (const Buffer& buffer : graph.buffers) found += buffer.allocation == driver_allocation(99) ? 1 : 0;
    return found;
  };
  CHECK(capture() == 0);  // the lease says more about the same bytes
  arena.release(gone);
  CHECK(capture() == 1);
}

TEST_CASE("recorder: what a library's kernel holds beside the op's Args is none of the step's memory") {
  LibraryDriver driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena{driver, registry, 1 << 16};
  const Lease counters = arena.lease({"counters", 64, Role::scratch, Dtype::i32});
  const Lease other = arena.lease({"another step's", 64, Role::workspace, Dtype::i32});
  driver.left_behind = other.address();
  const Stream stream = new_stream(driver);
  Recorder recorder(driver, registry, stream);
  const CountArgs args{counters.as<std::int32_t>(), 16};
  CaptureScope scope(recorder, CaptureMode::global);
  recorder.launch(count_op, args);
  const Graph graph = scope.finish("step", {}).graph;
  REQUIRE(graph.nodes.size() == 1);
  REQUIRE(graph.nodes[0].params.size() == 1);
  CHECK(graph.nodes[0].params[0].bytes == bytes_of_args(args));
  CHECK(graph.buffers.size() == 1);
  CHECK(graph.buffers[0].name == "counters");
}
