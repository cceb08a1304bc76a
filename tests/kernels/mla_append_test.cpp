#include "kernels/mla_append.hpp"

#include <climits>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/latent_scene.hpp"
#include "tests/kernels/reservation.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

SceneShape two_requests() {
  return {.lengths = {35, 9}, .rows = {5, 2}, .pad_rows = 3, .page_size = 16, .dim = 8};
}

/// Values that share a scale; all of them where there is none.
std::int64_t group_of(MlaRecord record) {
  return record == MlaRecord::e4m3_656 ? 128 : 64;
}

/// The scale that the format prescribes, in fp64 from the row's values: largest / 448, or the power of two above it.
double scale_of(const LatentScene& latent, std::int32_t row, std::int64_t first) {
  const std::int64_t count = group_of(latent.args.pool.record);
  double largest = 0;
  for (std::int64_t at = first; at < first + count; ++at) largest = std::max(largest, std::abs(latent.value(row, at)));
  if (largest == 0) return 1;
  if (latent.args.pool.record == MlaRecord::e4m3_656) return largest / 448;
  return std::exp2(std::ceil(std::log2(largest / 448)));
}

/// Half a step of E4M3 at a quotient, and what fp32's division and scale move it besides.
double code_error(double quotient) {
  const double magnitude = std::abs(quotient);
  const double step = magnitude < 0x1p-6 ? 0x1p-9 : std::exp2(std::floor(std::log2(magnitude)) - 3);
  return step / 2 + magnitude * 0x1p-22;
}

/// Every real row's record decodes, in the oracle's fp64, to what the row holds.
void require_records(const LatentScene& latent) {
  const MlaPoolView& pool = latent.args.pool;
  for (std::int32_t row = 0; row < *latent.scene.rows; ++row) {
    const std::vector<double> record = mla_oracle_record(pool, latent.slot(row));
    for (std::int64_t at = 0; at < pool.dim(); ++at) {
      CAPTURE(row, at);
      const double want = latent.value(row, at), got = record[static_cast<std::size_t>(at)];
      if (pool.record == MlaRecord::bf16 || at >= pool.nope()) {
        REQUIRE(got == want);
        continue;
      }
      const double scale = scale_of(latent, row, at - at % group_of(pool.record));
      REQUIRE(std::abs(got - want) <= scale * code_error(want / scale));
    }
  }
}

void append_cases(const std::function<void(const MlaAppendArgs&, Memory&)>& run) {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const MlaRecord record : kMlaRecords)
    for (const std::int32_t page_size : {4, 64, 256}) {
      SceneShape shape = two_requests();
      shape.page_size = page_size;
      LatentScene latent(record, shape, rng);
      run(latent.args, latent.scene.memory);
      require_records(latent);
    }
}

}  // namespace

TEST_CASE("mla_append: every row's record decodes to the row in all formats and page sizes") {
  append_cases([](const MlaAppendArgs& args, Memory& memory) { run_checked(mla_append, args, memory); });
}

TEST_CASE("mla_append: the cases see rows in each other's slots", "[!shouldfail]") {
  append_cases([](MlaAppendArgs args, Memory&) {
    args.latent = static_cast<const std::byte*>(args.latent) + 2 * args.pool.dim();
    mla_append.host(args);
  });
}

TEST_CASE("mla_append: the cases see a scale that is rounded down", "[!shouldfail]") {
  append_cases([](const MlaAppendArgs& args, Memory&) {
    mla_append.host(args);
    if (args.pool.record != MlaRecord::e4m3_584) return;
    for (std::int64_t slot = 0; slot < args.pool.slots(); ++slot) {
      std::byte* scale = args.pool.data + args.pool.footer_offset(slot) + 3;
      if (*scale != std::byte{0xFF}) *scale = std::byte(std::to_integer<int>(*scale) - 1);
    }
  });
}

TEST_CASE("mla_append: exactly the bytes of the real rows' records are written") {
  Rng rng(fresh_seed());
  for (const MlaRecord record : kMlaRecords) {
    LatentScene latent(record, two_requests(), rng);
    const MlaPoolView& pool = latent.args.pool;
    std::vector<std::byte> after[2];
    for (const int fill : {0, 1}) {  // a byte that comes out the same over both fills was written
      std::memset(pool.data, fill == 0 ? 0xA5 : 0x5A, pool.bytes());
      mla_append.host(latent.args);
      after[fill] = latent.pool_bytes();
    }
    std::size_t written = 0, null_block = 0;
    for (std::size_t i = 0; i < after[0].size(); ++i) {
      written += after[0][i] == after[1][i];
      null_block += after[0][i] == after[1][i] && i < static_cast<std::size_t>(pool.page_bytes());
    }
    const std::size_t of_format = record == MlaRecord::bf16 ? 1152 : record == MlaRecord::e4m3_656 ? 656 : 584;
    CHECK(written == 7 * of_format);
    CHECK(null_block == 0);
  }
}

TEST_CASE("mla_append: pad rows and rows without a page or a token or a request write nothing") {
  Rng rng(fresh_seed());
  for (const MlaRecord record : kMlaRecords) {
    LatentScene latent(record, {.lengths = {40}, .rows = {8}, .page_size = 4, .dim = 8}, rng);
    Scene& s = latent.scene;
    const std::vector<std::byte> before = latent.pool_bytes();
    const auto require_nothing = [&] {
      mla_append.host(latent.args);
      CHECK((latent.pool_bytes() == before));
    };
    *s.rows = 0;  // all eight rows are pad rows now, with valid requests and positions
    require_nothing();
    *s.rows = 8;
    const std::int32_t pages[] = {s.page_table[8], s.page_table[9]};  // tokens 32..39
    for (const std::int32_t bad : {0, -1, INT_MIN, INT_MAX, static_cast<std::int32_t>(s.pool.pages)}) {
      s.page_table[8] = s.page_table[9] = bad;
      require_nothing();
    }
    std::copy_n(pages, 2, s.page_table + 8);
    s.page_table[10] = pages[0];  // a stale page past the length is a page, but not this request's token 40
    for (const std::int64_t position : {std::int64_t{40}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
      std::fill_n(s.query_pos, 8, position);
      require_nothing();
    }
    std::fill_n(s.query_pos, 8, 39);
    for (const std::int32_t request : {-1, 1, INT_MAX}) {
      std::fill_n(s.token_to_req, 8, request);
      require_nothing();
    }
    std::fill_n(s.token_to_req, 8, 0);
    s.seq_len[0] = INT_MAX;  // the table ends first
    std::fill_n(s.query_pos, 8, std::int64_t{4} * s.batch.pages_per_request);
    require_nothing();
  }
}

TEST_CASE("mla_append: infinities saturate at the scale of the finite values and NaN stays NaN") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Rng rng(fresh_seed());
  for (const MlaRecord record : {MlaRecord::e4m3_656, MlaRecord::e4m3_584}) {
    LatentScene latent(record, {.lengths = {8}, .rows = {1}, .page_size = 4, .dim = 8}, rng);
    for (std::int64_t i = 0; i < latent.args.pool.dim(); ++i) latent.put(i, 0.0f);
    // Group 0: the largest finite magnitude is 896, so that both formats' scale is 2. Group 1 has zeros alone: scale 1.
    const float values[] = {896.0f, kInf, -kInf, NAN, -NAN, 2.0f, -896.0f, 0x1p-8f};
    for (std::int64_t i = 0; i < 8; ++i) latent.put(i, values[i]);
    mla_append.host(latent.args);
    const std::int64_t slot = latent.slot(0);
    const std::byte* codes = latent.args.pool.data + latent.args.pool.record_offset(slot);
    // 448 is 0x7E; 1 is 0x38; 2^-9 is the smallest subnormal.
    const std::uint8_t want[] = {0x7E, 0x7E, 0xFE, 0x7F, 0xFF, 0x38, 0xFE, 0x01};
    CHECK(std::memcmp(codes, want, sizeof want) == 0);
    if (record == MlaRecord::e4m3_656) {
      const float scales[] = {2, 1, 1, 1};
      CHECK(std::memcmp(codes + 512, scales, sizeof scales) == 0);
    } else {
      const std::uint8_t footer[] = {128, 127, 127, 127, 127, 127, 127, 0};
      CHECK(std::memcmp(latent.args.pool.data + latent.args.pool.footer_offset(slot), footer, sizeof footer) == 0);
    }
  }
}

TEST_CASE("mla_append: the smallest and largest values of bf16 keep to the format") {
  Rng rng(fresh_seed());
  for (const float size : {0x1p-133f, 0x1.8p-130f, 0x1p-126f, 0x1.fep127f}) {
    CAPTURE(size);
    LatentScene latent(MlaRecord::e4m3_584, {.lengths = {8}, .rows = {1}, .page_size = 4, .dim = 8}, rng);
    for (std::int64_t i = 0; i < latent.args.pool.dim(); ++i) latent.put(i, i % 2 == 0 ? size : -size);
    mla_append.host(latent.args);
    const std::byte* footer = latent.args.pool.data + latent.args.pool.footer_offset(latent.slot(0));
    // Code 0 is 2^-127, the smallest scale that there is; above it the smallest power of two at or over size / 448.
    const double wanted = std::max(-127.0, std::ceil(std::log2(double{size} / 448)));
    CHECK(std::to_integer<int>(footer[0]) == static_cast<int>(wanted) + 127);
    CHECK(footer[7] == std::byte{0});
  }
}

TEST_CASE("mla_append: a page beyond 2^31 bytes is found") {
  constexpr std::int64_t kPages = 14'342;  // of 149,760 bytes: the last begins at 2,147,708,160
  Rng rng(fresh_seed());
  LatentScene latent(MlaRecord::e4m3_584, {.lengths = {256}, .rows = {1}, .page_size = 256, .dim = 8}, rng);
  latent.args.pool.pages = kPages;
  const Reservation memory(latent.args.pool.bytes());
  latent.args.pool.data = memory.data();
  latent.scene.page_table[0] = kPages - 1;
  mla_append.host(latent.args);
  require_records(latent);
}

TEST_CASE("mla_append: the contract may write pages 1 and up and leaves the null block out") {
  Rng rng(fresh_seed());
  LatentScene latent(MlaRecord::e4m3_656, two_requests(), rng);
  int writes = 0;
  for (const Access& access : mla_append.contract(latent.args).accesses) {
    if (access.mode == Mode::read) continue;
    ++writes;
    CHECK(access.role == Role::kv_pool);
    CHECK(access.tokens == CacheTokens::appended);
    CHECK(access.reach == Reach::may);
    CHECK(access.base == reinterpret_cast<Address>(latent.args.pool.data));
    CHECK(access.range == ByteRange{16 * 656, latent.args.pool.bytes()});
  }
  CHECK(writes == 1);
}
