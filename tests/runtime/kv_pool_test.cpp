#include "runtime/kv_pool.hpp"

#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"

using namespace refrain;

TEST_CASE("kv pool: the null block is marked as bytes that no op may write") {
  HostDriver driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena(driver, registry, 1 << 20);
  const KvPool pool(arena,
                    {.data = nullptr, .pages = 3, .page_size = 4, .kv_heads = 1, .dim = 256, .dtype = Dtype::e4m3});
  CHECK(registry[pool.lease().id()].reserved == ByteRange{0, 2 * 4 * 256});  // K and V of 4 tokens
  Lease plain = arena.lease({"plain", 64});
  CHECK(registry[plain.id()].reserved.empty());
}

TEST_CASE("kv pool: a page holds K and V of its tokens, and microblock 0 is the null block's first") {
  HostDriver driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena(driver, registry, 1 << 20);
  const KvPool pool(arena,
                    {.data = nullptr, .pages = 3, .page_size = 32, .kv_heads = 1, .dim = 256, .dtype = Dtype::fp16});
  CHECK(pool.view().page_bytes() == 2u * 32 * 256 * 2);
  CHECK(pool.view().page_stride4() == 16);  // 2 planes x 32 tokens / 4
  CHECK(pool.view().microblock_offset(pool.view().page_stride4()) == pool.view().k_offset(1, 0, 0));
  CHECK(pool.view().microblock_offset(0) == 0);
}
