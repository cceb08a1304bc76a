// A step that is one launch and no other call: inputs through the ring, results by
// polling, equal to the same step run eagerly from the same inputs.
#include "runtime/step_ring.hpp"

#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "audit/audit.hpp"
#include "graphs/error.hpp"
#include "runtime/host/host_driver.hpp"
#include "runtime/session.hpp"
#include "runtime/steps/attention/attention_step.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

constexpr std::uint32_t kDepth = 3;

StepOptions decode_step() {
  StepOptions o;
  o.step = StepKind::xqa;
  o.rows = 5;
  o.bucket = 6;
  o.context = 70;
  return o;
}

RingField field(Address device, std::uint64_t bytes, Role role, Dtype dtype) {
  return {reinterpret_cast<std::byte*>(device), 0, bytes, role, dtype};
}

/// A session whose inputs q, k, v and positions come through a ring, and whose outputs leave through it.
struct Ringed {
  explicit Ringed(Driver& driver)
      : session(driver, decode_step()),
        step(dynamic_cast<const AttentionStep&>(*session.step)),
        outputs(step.outputs()),
        arena(session.driver, session.registry, 4096),
        ring(session.driver, session.registry, arena, inputs(), results(), kDepth),
        recorder(session.driver, session.registry, session.stream) {
    session.step->prepare(recorder);
    ring.prepare(recorder);
    CaptureScope scope(recorder, CaptureMode::thread_local_);
    ring.record_take(recorder);
    session.step->record(recorder);
    ring.record_give(recorder);
    captured.emplace(scope.finish("ringed decode", {}));
    session.driver.add_graph(captured->handle(), captured->graph);
    exec.emplace(session.driver, session.arena, *captured, session.stream);
  }

  [[nodiscard]] std::vector<RingField> inputs() const {
    const AttentionBuffers& b = step.buffers();
    const AttentionInputs& in = step.inputs();
    return {field(b.q.address(), in.q.size(), Role::input, Dtype::fp16),
            field(b.k.address(), in.k.size(), Role::input, Dtype::fp16),
            field(b.v.address(), in.v.size(), Role::input, Dtype::fp16),
            field(b.rows.address(), 4, Role::input, Dtype::i32)};
  }
  [[nodiscard]] std::vector<RingField> results() const {
    std::vector<RingField> fields;
    for (const OutputTensor& tensor : outputs)
      fields.push_back(field(tensor.address, tensor.bytes(), Role::output, tensor.dtype));
    return fields;
  }

  void launch(const AttentionInputs& in) {
    const auto put = [&](std::size_t at, const void* from) {
      const std::span<std::byte> to = ring.input(at);
      std::memcpy(to.data(), from, to.size());
    };
    put(0, in.q.data());
    put(1, in.k.data());
    put(2, in.v.data());
    put(3, in.rows.data());
    exec->launch(session.stream);
    ring.issued();
  }

  Session session;
  const AttentionStep& step;
  std::vector<OutputTensor> outputs;
  Arena arena;
  StepRing ring;
  Recorder recorder;
  std::optional<Captured> captured;
  std::optional<GraphExec> exec;
};

/// New queries, keys, values and a row count for the same pages.
AttentionInputs variant(const Ringed& r, std::uint64_t seed) {
  StepOptions o = r.step.options();
  o.seed = seed;
  AttentionInputs in = make_inputs(o, r.step.buffers().pages);
  in.rows[0] = static_cast<std::int32_t>(1 + seed % 5);
  return in;
}

/// What the same inputs give eagerly, written by blocking copies.
Output eager(Ringed& r, const AttentionInputs& in) {
  const AttentionBuffers& b = r.step.buffers();
  Driver& driver = r.session.driver;
  write_array(driver, b.q, in.q);
  write_array(driver, b.k, in.k);
  write_array(driver, b.v, in.v);
  write_array(driver, b.rows, in.rows);
  settle_writes(driver);
  r.session.step->record(r.recorder);
  check(driver.synchronize(r.session.stream), "synchronize");
  return read_output(driver, r.outputs);
}

void wait_for(const StepRing& ring, std::uint64_t steps) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (ring.completed() < steps && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  REQUIRE(ring.completed() >= steps);
}

}  // namespace

TEST_CASE("step ring: results are those of an eager run of the same inputs") {
  const auto driver = test::make_test_driver();
  {
    Ringed r(*driver);
    for (std::uint64_t step = 0; step < 20; ++step) {
      const AttentionInputs in = variant(r, step);
      r.launch(in);
      wait_for(r.ring, step + 1);
      std::vector<std::vector<std::byte>> got;
      for (std::size_t i = 0; i < r.outputs.size(); ++i) {
        const auto result = r.ring.result(step, i);
        got.emplace_back(result.begin(), result.end());
      }
      CHECK(got == eager(r, in).bytes);
    }
  }
  CHECK(test::holds_nothing(*driver));
}

TEST_CASE("step ring: steps in flight keep their own slots") {
  const auto driver = test::make_test_driver();
  Ringed r(*driver);
  std::vector<AttentionInputs> in;
  std::vector<std::vector<std::byte>> first_tensor;
  std::uint64_t taken = 0;
  const auto take = [&] {
    for (; taken < r.ring.completed(); ++taken) {
      const auto result = r.ring.result(taken, 0);
      first_tensor.emplace_back(result.begin(), result.end());
    }
  };
  for (std::uint64_t step = 0; step < 200; ++step) {
    in.push_back(variant(r, step % 7));
    while (r.ring.full()) take();
    take();  // before the slot of a finished step is filled again
    r.launch(in.back());
  }
  wait_for(r.ring, 200);
  take();
  REQUIRE(first_tensor.size() == 200);
  for (std::size_t step = 0; step < 7; ++step) {
    const Output expected = eager(r, in[step]);
    for (std::size_t same = step; same < 200; same += 7) CHECK(first_tensor[same] == expected.bytes[0]);
  }
}

TEST_CASE("step ring: it is full when every slot belongs to a step that is not done") {
  HostDriver host;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena(host, registry, 4096);
  const Lease in = arena.lease({"in", 64, Role::input, Dtype::u8}),
              out = arena.lease({"out", 64, Role::output, Dtype::u8});
  StepRing ring(host, registry, arena, {field(in.address(), 64, Role::input, Dtype::u8)},
                {field(out.address(), 64, Role::output, Dtype::u8)}, 2);
  Stream stream;
  check(host.create_stream(stream), "stream");
  Recorder recorder(host, registry, stream);
  ring.prepare(recorder);
  CHECK_FALSE(ring.full());
  ring.issued();
  CHECK_FALSE(ring.full());
  ring.issued();
  CHECK(ring.full());
  CHECK(ring.completed() == 0);
  ring.record_take(recorder);  // eager: the first step runs
  ring.record_give(recorder);
  CHECK(ring.completed() == 1);
  CHECK_FALSE(ring.full());
  check(host.destroy_stream(stream), "stream");
}

TEST_CASE("step ring: in steady state a step is one graph launch and no other call") {
  const auto driver = test::make_test_driver();
  Ringed r(*driver);
  const AttentionInputs in = variant(r, 1);
  r.launch(in);
  wait_for(r.ring, 1);
  const std::size_t before = r.session.recording().timeline.calls.size();
  for (std::uint64_t step = 1; step < 50; ++step) {
    while (r.ring.full()) std::this_thread::yield();
    r.launch(in);
  }
  wait_for(r.ring, 50);
  const Recording recording = r.session.recording();
  REQUIRE(recording.timeline.calls.size() == before + 49);
  for (std::size_t i = before; i < recording.timeline.calls.size(); ++i)
    CHECK(recording.timeline.calls[i].api == Api::graph_launch);
}

TEST_CASE("step ring: the audit of such a graph is clean") {
  const auto driver = test::make_test_driver();
  Ringed r(*driver);
  const AttentionInputs in = variant(r, 1);
  for (std::uint64_t step = 0; step < 3; ++step) {
    r.launch(in);
    wait_for(r.ring, step + 1);
  }
  const Subject subject{{r.session.recording()}};
  const Report report = audit(subject);
  for (const Finding& finding : report.findings()) {
    INFO(finding.rule << " " << finding.message);
    CHECK(false);
  }
}

TEST_CASE("step ring: a ring without depth or with too many fields is refused") {
  HostDriver host;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena(host, registry, 4096);
  const Lease in = arena.lease({"in", 64, Role::input, Dtype::u8});
  const std::vector<RingField> one{field(in.address(), 64, Role::input, Dtype::u8)};
  const std::vector<RingField> many(kRingFields + 1, one.front());
  CHECK_THROWS_AS(StepRing(host, registry, arena, one, one, 0), Error);
  CHECK_THROWS_AS(StepRing(host, registry, arena, many, one, 2), Error);
  CHECK_THROWS_AS(StepRing(host, registry, arena, {}, one, 2), Error);
}

namespace {

/// A ring of two inputs and two results of 64 bytes, its device memory poisoned with 0xFF.
struct TwoFields {
  TwoFields() {
    std::memset(in.as<std::byte>(), 0xFF, 128);
    std::memset(out.as<std::byte>(), 0xFF, 128);
    ring.prepare(recorder);
  }
  ~TwoFields() { (void)host.destroy_stream(stream); }
  static Stream stream_of(Driver& driver) {
    Stream stream;
    check(driver.create_stream(stream), "stream");
    return stream;
  }
  static std::vector<RingField> halves(const Lease& lease, Role role) {
    return {field(lease.address(), 64, role, Dtype::u8), field(lease.address() + 64, 64, role, Dtype::u8)};
  }
  /// The 128 bytes behind a lease that are not `poison`.
  static std::vector<int> touched(const Lease& lease) {
    std::vector<int> at;
    for (int i = 0; i < 128; ++i)
      if (lease.as<std::uint8_t>()[i] != 0xFF) at.push_back(i);
    return at;
  }

  HostDriver host;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena{host, registry, 4096};
  Lease in = arena.lease({"in", 128, Role::input, Dtype::u8}), out = arena.lease({"out", 128, Role::output, Dtype::u8});
  StepRing ring{host, registry, arena, halves(in, Role::input), halves(out, Role::output), 2};
  Stream stream = stream_of(host);
  Recorder recorder{host, registry, stream};
};

}  // namespace

TEST_CASE("step ring: a graph moves the front of each field that it asks for and leaves the rest alone") {
  TwoFields w;
  for (const std::size_t i : {0u, 1u}) std::memset(w.ring.input(i).data(), 7, 64);
  w.ring.record_take(w.recorder, std::vector<std::uint64_t>{3, 0});
  CHECK(TwoFields::touched(w.in) == std::vector<int>{0, 1, 2});
  std::memset(w.out.as<std::byte>(), 9, 128);
  w.ring.record_give(w.recorder, std::vector<std::uint64_t>{0, 5});
  w.ring.issued();
  REQUIRE(w.ring.completed() == 1);
  for (const std::byte b : w.ring.result(0, 0)) CHECK(b == std::byte{0});  // as the ring began
  const auto second = w.ring.result(0, 1);
  for (std::size_t i = 0; i < 64; ++i) CHECK(second[i] == std::byte{i < 5 ? std::uint8_t{9} : std::uint8_t{0}});
}

TEST_CASE("step ring: the contract of a prefix names the prefix and no field that is left out") {
  TwoFields w;
  CaptureScope scope(w.recorder, CaptureMode::thread_local_);
  w.ring.record_take(w.recorder, std::vector<std::uint64_t>{0, 20});
  const Captured captured = scope.finish("prefix", {});
  REQUIRE(captured.graph.nodes.size() == 1);
  std::vector<ByteRange> written;
  for (const NodeAccess& access : captured.graph.nodes[0].accesses)
    if (access.mode == Mode::write) written.push_back(access.range);
  CHECK(written == std::vector<ByteRange>{{64, 84}});
}

TEST_CASE("step ring: a step that ran though its launch was said to fail is seen") {
  TwoFields w;
  CHECK_FALSE(w.ring.ran_unissued());
  w.ring.record_give(w.recorder);
  CHECK(w.ring.ran_unissued());
  CHECK(w.ring.completed() == 0);
  w.ring.issued();
  CHECK(w.ring.completed() == 1);
  CHECK_FALSE(w.ring.ran_unissued());
}

TEST_CASE("step ring: prepared again it counts from the beginning on both sides") {
  TwoFields w;
  for (std::uint64_t step = 0; step < 3; ++step) {
    w.ring.record_give(w.recorder);
    w.ring.issued();
    CHECK(w.ring.completed() == step + 1);
  }
  w.ring.prepare(w.recorder);
  CHECK(w.ring.completed() == 0);
  CHECK(w.ring.issued_steps() == 0);
  CHECK_FALSE(w.ring.ran_unissued());
  w.ring.record_give(w.recorder);
  w.ring.issued();
  CHECK(w.ring.completed() == 1);
}

TEST_CASE("step ring: what a step key has to name of it is what a graph names") {
  TwoFields w;
  CaptureScope scope(w.recorder, CaptureMode::thread_local_);
  w.ring.record_take(w.recorder);
  w.ring.record_give(w.recorder);
  const Captured captured = scope.finish("ends", {});
  std::set<std::uint64_t> named{w.registry[w.in.id()].allocation, w.registry[w.out.id()].allocation};
  for (const std::uint64_t allocation : w.ring.allocations()) named.insert(allocation);
  std::set<std::uint64_t> found;
  for (const Buffer& buffer : captured.graph.buffers) found.insert(buffer.allocation);
  CHECK(found == named);
}
