#include "runtime/arena.hpp"

#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

/// A graph that names the lease's buffer, as a captured one would.
Graph graph_naming(const BufferRegistry& registry, const Lease& lease) {
  Graph graph;
  graph.buffers.push_back(registry[lease.id()]);
  return graph;
}

struct Bench {
  HostDriver driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena{driver, registry, 1 << 16};
};

}  // namespace

TEST_CASE("arena: leases are 256-byte aligned, disjoint, and known to the registry by name") {
  Bench b;
  const Lease first = b.arena.lease({"first", 1, Role::scratch, Dtype::i32});
  const Lease second = b.arena.lease({"second", 300, Role::workspace, Dtype::fp32});
  CHECK(first.address() % 256 == 0);
  CHECK(second.address() == first.address() + 256);
  const auto found = b.registry.find(second.address() + 299);
  REQUIRE(found);
  CHECK(b.registry[*found].name == "second");
  CHECK_FALSE(b.registry.find(second.address() + 300));
  CHECK(b.arena.bytes_leased() == 256 + 512);
}

TEST_CASE("arena: a range held by a graph exec can be neither released nor grown") {
  Bench b;
  Lease lease = b.arena.lease({"workspace", 1024, Role::workspace, Dtype::fp32});
  const Address address = lease.address();
  {
    const LeaseHolds holds = b.arena.hold(graph_naming(b.registry, lease));
    CHECK_THROWS_AS(b.arena.release(lease), Error);
    CHECK_THROWS_AS(b.arena.grow(lease, 4096), Error);
    CHECK(lease.address() == address);
  }
  b.arena.grow(lease, 4096);
  CHECK(b.registry[lease.id()].bytes == 4096);
  b.arena.release(lease);
  CHECK_FALSE(lease);
  CHECK(b.arena.bytes_leased() == 0);
}

TEST_CASE("arena: a lease that dies while a graph exec holds it keeps its range until the graph goes") {
  Bench b;
  LeaseHolds holds;
  Address address = 0;
  {
    const Lease lease = b.arena.lease({"scratch", 256, Role::scratch, Dtype::i32});
    address = lease.address();
    holds = b.arena.hold(graph_naming(b.registry, lease));
  }
  const Lease other = b.arena.lease({"other", 256, Role::scratch, Dtype::i32});
  CHECK(other.address() != address);
  CHECK(b.arena.given_up(1));
  CHECK_FALSE(b.arena.given_up(b.registry[other.id()].allocation));
  holds = LeaseHolds{};
  CHECK_FALSE(b.arena.given_up(1));  // that range is gone
  CHECK_FALSE(b.arena.given_up(0));
  const Lease again = b.arena.lease({"again", 256, Role::scratch, Dtype::i32});
  CHECK(again.address() == address);
}

TEST_CASE("arena: a freed range that is leased again is another allocation at the same address") {
  Bench b;
  Lease first = b.arena.lease({"first", 256, Role::scratch, Dtype::i32});
  const auto first_id = first.id();
  const Address address = first.address();
  b.arena.release(first);
  const Lease second = b.arena.lease({"second", 256, Role::scratch, Dtype::i32});
  CHECK(second.address() == address);
  CHECK(b.registry[second.id()].allocation != b.registry[first_id].allocation);
  CHECK(b.registry[first_id].died.has_value());
  CHECK(*b.registry[first_id].died < *b.registry[second.id()].born);
}

TEST_CASE("arena: freed neighbours become one range, and a full arena refuses with its numbers") {
  Bench b;
  Lease all = b.arena.lease({"all", 1 << 16, Role::unknown, Dtype::u8});
  CHECK_THROWS_AS(b.arena.lease({"more", 1, Role::unknown, Dtype::u8}), Error);
  b.arena.release(all);
  Lease a = b.arena.lease({"a", 1 << 15, Role::unknown, Dtype::u8}),
        c = b.arena.lease({"c", 1 << 15, Role::unknown, Dtype::u8});
  b.arena.release(a);
  b.arena.release(c);
  CHECK(b.arena.lease({"all again", 1 << 16, Role::unknown, Dtype::u8}));
}

TEST_CASE("arena: the reservation is given back to the driver") {
  HostDriver driver;
  {
    SequenceClock clock;
    BufferRegistry registry{clock};
    Arena arena(driver, registry, 4096);
    CHECK(driver.census().allocations == 1);  // addresses alone
    CHECK(arena.bytes_mapped() == 0);
    const Lease lease = arena.lease({"some", 1, Role::scratch, Dtype::u8});
    CHECK(driver.census().allocations == 2);
    CHECK(arena.bytes_mapped() == Driver::kMapGranularity);
  }
  CHECK(driver.census() == HostDriver::Census{});
}
