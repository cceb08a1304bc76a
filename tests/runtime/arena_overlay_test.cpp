// Graphs that never run together share physical memory: leases of two overlays have
// addresses of their own and the same bytes behind them. The same tests on each driver.
#include <random>
#include <set>

#include "runtime/failing_driver.hpp"
#include "runtime/runtime.hpp"
#include "runtime/transfer.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

constexpr std::uint64_t kGranule = Driver::kMapGranularity;

LeaseRequest workspace(std::uint64_t bytes, std::uint32_t overlay, Role role = Role::workspace) {
  return {"workspace", bytes, role, Dtype::u8, {}, overlay};
}

std::vector<std::uint8_t> noise(std::size_t bytes) {
  std::mt19937 random(std::random_device{}());
  std::vector<std::uint8_t> out(bytes);
  for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(random());
  return out;
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::refused);
    return error.what();
  }
  return "";
}

struct Bench {
  explicit Bench(Driver& of, Overlays overlays = {2, 3 * kGranule})
      : driver(of), arena(of, registry, 2 * kGranule, overlays) {}
  Driver& driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena;
};

}  // namespace

TEST_CASE("arena overlays: leases of two overlays have other addresses and the same bytes") {
  const auto driver = test::make_test_driver();
  {
    Bench b(*driver);
    const Lease own = b.arena.lease(workspace(4096, 0));
    const Lease first = b.arena.lease(workspace(4096, 1));
    const Lease second = b.arena.lease(workspace(4096, 2));
    CHECK(std::set<Address>{own.address(), first.address(), second.address()}.size() == 3);
    for (const Lease* to : {&first, &second}) {
      const auto own_bytes = noise(4096), bytes = noise(4096);
      write_array(*driver, own, own_bytes);
      write_array(*driver, *to, bytes);
      for (const Lease* from : {&first, &second}) CHECK(read_array<std::uint8_t>(*driver, *from, 4096) == bytes);
      CHECK(read_array<std::uint8_t>(*driver, own, 4096) == own_bytes);
    }
  }
  CHECK(test::holds_nothing(*driver));
}

TEST_CASE("arena overlays: leases of one overlay lie beside each other") {
  const auto driver = test::make_test_driver();
  Bench b(*driver);
  const Lease first = b.arena.lease(workspace(300, 1)), second = b.arena.lease(workspace(300, 1, Role::scratch));
  CHECK(second.address() == first.address() + 512);
  const auto one = noise(300), two = noise(300);
  write_array(*driver, first, one);
  write_array(*driver, second, two);
  CHECK(read_array<std::uint8_t>(*driver, first, 300) == one);
  CHECK(read_array<std::uint8_t>(*driver, second, 300) == two);
}

TEST_CASE("arena overlays: memory is the own and the largest overlay, and not the sum") {
  const auto driver = test::make_test_driver();
  Bench b(*driver, {3, 8 * kGranule});
  const Lease own = b.arena.lease(workspace(1, 0));
  CHECK(b.arena.bytes_mapped() == kGranule);
  const Lease first = b.arena.lease(workspace(2 * kGranule, 1));
  CHECK(b.arena.bytes_mapped() == 3 * kGranule);
  const Lease second =
      b.arena.lease(workspace(5 * kGranule, 2));  // grows over what the first has, by a piece of its own
  CHECK(b.arena.bytes_mapped() == 6 * kGranule);
  const Lease third = b.arena.lease(workspace(4 * kGranule, 3));  // two pieces, all there
  CHECK(b.arena.bytes_mapped() == 6 * kGranule);
  CHECK(b.arena.bytes_leased() == 256);
  CHECK(b.arena.bytes_leased(1) == 2 * kGranule);
  CHECK(b.arena.bytes_leased(2) == 5 * kGranule);
  CHECK(b.arena.bytes_leased(3) == 4 * kGranule);
  // Both pieces are shared at the same offsets.
  const auto bytes = noise(4 * kGranule);
  write_array(*driver, third, bytes);
  CHECK(read_array<std::uint8_t>(*driver, second, bytes.size()) == bytes);
  const auto front = read_array<std::uint8_t>(*driver, first, 2 * kGranule);
  CHECK(std::equal(front.begin(), front.end(), bytes.begin()));
}

TEST_CASE("arena overlays: sleep takes all memory and wake brings the shared back at the same addresses") {
  const auto driver = test::make_test_driver();
  {
    Bench b(*driver);
    const Lease first = b.arena.lease(workspace(kGranule, 1)), second = b.arena.lease(workspace(3 * kGranule, 2));
    const std::uint64_t mapped = b.arena.bytes_mapped();
    CHECK(mapped == 3 * kGranule);
    for (int round = 0; round < 2; ++round) {
      b.arena.sleep();
      CHECK(b.arena.bytes_mapped() == 0);
      b.arena.wake();
      CHECK(b.arena.bytes_mapped() == mapped);
      const auto bytes = noise(kGranule);
      write_array(*driver, second, bytes);
      CHECK(read_array<std::uint8_t>(*driver, first, kGranule) == bytes);
    }
  }
  CHECK(test::holds_nothing(*driver));
}

TEST_CASE("arena overlays: what outlives a replay is refused there, and so is an overlay that is not there or full") {
  const auto driver = test::make_test_driver();
  Bench b(*driver);
  for (const Role role : {Role::unknown, Role::kv_pool, Role::weights, Role::input, Role::output, Role::state}) {
    const std::string line = refusal([&] { (void)b.arena.lease(workspace(1, 1, role)); });
    CHECK(line.find(to_string(role)) != std::string::npos);
    CHECK(line.find("overlay 1") != std::string::npos);
  }
  for (const Role role : {Role::workspace, Role::scratch, Role::plan})
    CHECK(refusal([&] { (void)b.arena.lease(workspace(1, 1, role)); }).empty());
  CHECK(refusal([&] { (void)b.arena.lease(workspace(1, 3)); }).find("2 overlays") != std::string::npos);
  CHECK(refusal([&] { (void)b.arena.lease(workspace(4 * kGranule, 2)); }).find("overlay 2 has") != std::string::npos);
  CHECK(b.arena.bytes_leased(1) == 0);
}

TEST_CASE("arena overlays: a graph that names leases of two overlays is refused and nothing of it is held") {
  const auto driver = test::make_test_driver();
  Bench b(*driver);
  Lease own = b.arena.lease(workspace(256, 0)), first = b.arena.lease(workspace(256, 1)),
        second = b.arena.lease(workspace(256, 2));
  Graph graph;
  graph.name = "both";
  for (const Lease* lease : {&own, &first, &second}) graph.buffers.push_back(b.registry[lease->id()]);
  const std::string line = refusal([&] { (void)b.arena.hold(graph); });
  CHECK(line.find("both") != std::string::npos);
  CHECK(line.find("overlay 1") != std::string::npos);
  CHECK(line.find("overlay 2") != std::string::npos);
  graph.buffers.pop_back();
  {
    const LeaseHolds holds = b.arena.hold(graph);
    CHECK_FALSE(refusal([&] { b.arena.release(first); }).empty());
    CHECK(refusal([&] { b.arena.release(second); }).empty());
  }
  b.arena.grow(first, 512);
  CHECK(b.arena.bytes_leased(1) == 512);
  b.arena.release(own);
}

TEST_CASE("arena overlays: two captured graphs replay in turn, each with its own result out of the same memory") {
  const auto driver = test::make_test_driver();
  Bench b(*driver);
  const OwnedStream stream(*driver);
  constexpr std::uint64_t kBytes = 40'000;
  struct Copier {
    Lease in, between, out;
    std::optional<GraphExec> exec;
  };
  std::vector<Copier> steps;
  for (const std::uint32_t overlay : {1U, 2U}) {
    Copier step{b.arena.lease({"in", kBytes, Role::input, Dtype::u8}), b.arena.lease(workspace(kBytes, overlay)),
                b.arena.lease({"out", kBytes, Role::output, Dtype::u8}), std::nullopt};
    Recorder recorder(*driver, b.registry, stream);
    CaptureScope scope(recorder, CaptureMode::global);
    recorder.copy({step.between.address()}, {step.in.address()}, kBytes);
    recorder.copy({step.out.address()}, {step.between.address()}, kBytes);
    const Captured captured = scope.finish("copies", {});
    step.exec.emplace(*driver, b.arena, captured, stream);
    steps.push_back(std::move(step));
  }
  for (int replay = 0; replay < 6; ++replay) {
    Copier& step = steps[static_cast<std::size_t>(replay) % 2];
    const Copier& other = steps[static_cast<std::size_t>(replay + 1) % 2];
    const auto bytes = noise(kBytes), before = read_array<std::uint8_t>(*driver, other.out, kBytes);
    write_array(*driver, step.in, bytes);
    settle_writes(*driver);
    step.exec->launch(stream);
    check(driver->synchronize(stream), "cudaStreamSynchronize");
    CHECK(read_array<std::uint8_t>(*driver, step.out, kBytes) == bytes);
    CHECK(read_array<std::uint8_t>(*driver, other.between, kBytes) == bytes);  // the memory is the same
    CHECK(read_array<std::uint8_t>(*driver, other.out, kBytes) == before);
  }
}

TEST_CASE("arena overlays: whichever driver call fails nothing leaks and the arena can be used again") {
  std::uint64_t n = 0;
  for (bool failed = true; failed;) {
    const auto inner = test::make_test_driver();
    FailingDriver driver(*inner, ++n);
    INFO("call " << n);
    try {
      Bench b(driver, {2, 8 * kGranule});
      std::vector<Lease> leases;
      for (const std::uint64_t granules : {1U, 3U, 2U})
        for (const std::uint32_t overlay : {1U, 2U}) {
          const LeaseRequest request = workspace(granules * kGranule, overlay);
          try {
            leases.push_back(b.arena.lease(request));
          } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::driver);
            leases.push_back(b.arena.lease(request));  // that one call failed, and no other does
          }
        }
      CHECK(b.arena.bytes_mapped() == 6 * kGranule);
    } catch (const Error& error) {
      CHECK(n == 1);  // the reservation
    }
    failed = driver.failed();
    CHECK(test::holds_nothing(*inner));
  }
  CHECK(n > 10);
}
