// Where records lie: page sizes, list widths, head counts, and a pool whose offsets
// pass 2^31; and what the contracts say of pools and scratches.
#include <sys/mman.h>

#include <cmath>

#include "kernels/sparse_mla.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/mla_scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Address space without memory behind it until it is touched.
class Reservation {
 public:
  explicit Reservation(std::size_t bytes)
      : data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        bytes_(bytes) {
    REQUIRE(data_ != MAP_FAILED);
  }
  ~Reservation() { munmap(data_, bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace

TEST_CASE("sparse_mla: records are found in pages of any size") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const MlaRecord record : kMlaRecords) {
    for (const std::int32_t page : {2, 53, 61, 64, 256}) {
      MlaScene scene({.rows = 2, .heads = 8, .record = record, .page_size = page, .pages = 600 / page}, rng);
      scene.put_random(0, 0, 128, rng);
      scene.put_random(1, 30, 100, rng);
      scene.list(1)[0] = static_cast<std::int32_t>(scene.args.pool.slots()) - 1;
      scene.fill_attended(rng);
      for (const MlaRoute route : kMlaRoutes) {
        CAPTURE(static_cast<int>(record), page, static_cast<int>(route));
        scene.run(route);
        require_right(scene);
      }
    }
  }
}

TEST_CASE("sparse_mla: lists of 64 to 2048 entries over any head count are right in any number of splits") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  const std::int32_t heads[] = {8, 16, 32, 64, 128};
  std::size_t next = 0;
  for (const std::int32_t topk : {64, 128, 200, 512, 1024, 2048}) {
    MlaScene scene({.rows = 2,
                    .heads = heads[next++ % 5],
                    .topk = topk,
                    .record = MlaRecord::e4m3_656,
                    .pages = 40,
                    .split_chunks = static_cast<std::int32_t>(next)},
                   rng);
    scene.put_random(0, 0, topk, rng);
    scene.put_random(1, topk / 3, topk / 2, rng);
    scene.fill_attended(rng);
    for (const MlaRoute route : kMlaRoutes) {
      CAPTURE(topk, static_cast<int>(route));
      scene.run(route);
      require_right(scene);
    }
  }
}

TEST_CASE("sparse_mla: records beyond 2^31 bytes of the pool are found") {
  Rng rng(fresh_seed());
  for (const MlaRecord record : kMlaRecords) {
    const MlaPoolView pool{.pages = 120'000, .page_size = 64, .record = record};
    const Reservation reserved(pool.bytes());
    MlaScene scene({.rows = 2, .heads = 8, .topk = 64, .record = record, .pages = pool.pages}, rng, reserved.data());
    std::int32_t* list = scene.list(0);
    list[0] = 57'359 * 64;  // the first page whose 37,440-byte stride passes 2^31
    list[7] = 57'358 * 64 + 63;
    list[9] = 119'999 * 64 + 63;
    list[11] = 1;
    scene.list(1)[63] = 119'999 * 64;
    scene.fill_attended(rng);
    for (const MlaRoute route : kMlaRoutes) {
      scene.run(route);
      require_right(scene);
    }
  }
}

TEST_CASE("sparse_mla: the contract reads the whole pool and needs the start of a scratch zeroed") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 2, .pad_rows = 1, .record = MlaRecord::e4m3_584}, rng);
  const auto pool_access = [&] {
    for (const Access& access : sparse_mla_decode.contract(scene.args).accesses)
      if (access.base == reinterpret_cast<Address>(scene.args.pool.data)) return access;
    return Access{};
  };
  CHECK(pool_access().role == Role::kv_pool);
  CHECK(pool_access().reach == Reach::may);
  CHECK(pool_access().mode == Mode::read);
  CHECK(pool_access().range == ByteRange{0, 8 * 37'440});
  CHECK(sparse_mla_decode.contract(scene.args).needs.empty());
  scene.args.zeroed_bytes = 37'440;
  CHECK(pool_access().role == Role::scratch);
  const Contract contract = sparse_mla_prefill.contract(scene.args);
  REQUIRE(contract.needs.size() == 1);
  CHECK(contract.needs[0].fact == Fact::zeroed);
  CHECK(contract.needs[0].base == reinterpret_cast<Address>(scene.args.pool.data));
  CHECK(contract.needs[0].range == ByteRange{0, 37'440});
}

TEST_CASE("sparse_mla: partials may be written and everything else of a route is") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 2, .heads = 8}, rng);
  std::size_t may = 0, exact = 0;
  for (const Access& access : sparse_mla_decode.contract(scene.args).accesses) {
    if (access.mode != Mode::write) continue;
    CHECK(access.role == Role::workspace);
    (access.reach == Reach::may ? may : exact) += access.range.size();
  }
  CHECK(may == 2 * 8 * 2 * 512 * 4);  // rows, heads, splits, dims
  CHECK(exact == 2 * (2 * 8 * 2 * 4));
  exact = 0;
  for (const Access& access : sparse_mla_prefill.contract(scene.args).accesses) {
    if (access.mode != Mode::write) continue;
    CHECK(access.role == Role::output);
    CHECK(access.reach == Reach::exact);
    exact += access.range.size();
  }
  CHECK(exact == 2 * 8 * (512 * 2 + 4 + 4));
}
