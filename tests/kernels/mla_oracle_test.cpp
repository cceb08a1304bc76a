// The MLA oracle and the pool's offsets against numbers worked out by hand.
#include "kernels/mla_oracle.hpp"

#include <cmath>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/memory.hpp"

using namespace refrain;

namespace {

constexpr double kInf = HUGE_VAL;

/// A pool of two pages of two tokens, every byte 0xFF.
struct SmallPool {
  explicit SmallPool(MlaRecord record) {
    view = {.pages = 2, .page_size = 2, .record = record};
    view.data = memory.take_bytes(view.bytes());
  }
  test::Memory memory;
  MlaPoolView view;
};

}  // namespace

TEST_CASE("mla pool: page strides and offsets are those of the three formats") {
  MlaPoolView pool{.pages = 60'000, .page_size = 64, .record = MlaRecord::e4m3_584};
  CHECK(pool.page_bytes() == 37'440);  // 64 * 584 = 37,376, then a multiple of 576
  CHECK(pool.record_offset(57'359 * 64 + 3) == std::int64_t{57'359} * 37'440 + 3 * 576);
  CHECK(pool.record_offset(57'359 * 64) > std::int64_t{1} << 31);
  CHECK(pool.footer_offset(64 + 5) == 37'440 + 36'864 + 5 * 8);
  pool.page_size = 256;
  CHECK(pool.page_bytes() == 149'760);
  pool.record = MlaRecord::e4m3_656;
  CHECK(pool.record_offset(1000) == 656'000);
  pool.record = MlaRecord::bf16;
  CHECK(pool.record_offset(1000) == 1'152'000);
  CHECK(pool.dim() == 576);
}

TEST_CASE("mla oracle: a bf16 record is 576 numbers in a row") {
  SmallPool pool(MlaRecord::bf16);
  for (std::int64_t d = 0; d < 576; ++d)
    store_from_float(pool.view.data + 3 * 1152, Dtype::bf16, d, static_cast<float>(d % 128) - 60.0f);
  const std::vector<double> record = mla_oracle_record(pool.view, 3);
  REQUIRE(record.size() == 576);
  for (std::size_t d = 0; d < 576; ++d) REQUIRE(record[d] == static_cast<double>(d % 128) - 60.0);
  CHECK(std::isnan(mla_oracle_record(pool.view, 2)[0]));
}

TEST_CASE("mla oracle: a 656-byte record is codes under four scales and then the rope") {
  SmallPool pool(MlaRecord::e4m3_656);
  std::byte* record = pool.view.data + 2 * 656;
  for (int d = 0; d < 512; ++d) record[d] = std::byte{0x38};  // 1
  record[200] = std::byte{0xFE};                              // -448
  record[300] = std::byte{0x01};                              // 2^-9
  for (std::int64_t g = 0; g < 4; ++g) store_from_float(record + 512, Dtype::fp32, g, static_cast<float>(g) + 0.25f);
  for (std::int64_t d = 0; d < 64; ++d) store_from_float(record + 528, Dtype::bf16, d, static_cast<float>(-d));
  const std::vector<double> got = mla_oracle_record(pool.view, 2);
  REQUIRE(got.size() == 576);
  CHECK(got[0] == 0.25);
  CHECK(got[127] == 0.25);
  CHECK(got[128] == 1.25);
  CHECK(got[511] == 3.25);
  CHECK(got[200] == -448 * 1.25);
  CHECK(got[300] == 2.25 / 512);
  CHECK(got[512 + 63] == -63);
}

TEST_CASE("mla oracle: a 584-byte record takes its scales from the footer of its page") {
  SmallPool pool(MlaRecord::e4m3_584);
  CHECK(pool.view.page_bytes() == 1728);            // 1152 + 16, then a multiple of 576
  std::byte* record = pool.view.data + 1728 + 576;  // token 1 of page 1
  std::byte* scales = pool.view.data + 1728 + 1152 + 8;
  for (int d = 0; d < 448; ++d) record[d] = std::byte{0x38};
  for (int g = 0; g < 7; ++g) scales[g] = std::byte(127 + g);
  scales[5] = std::byte{0};
  scales[6] = std::byte{0xFF};
  for (std::int64_t d = 0; d < 64; ++d) store_from_float(record + 448, Dtype::bf16, d, 0.5f);
  const std::vector<double> got = mla_oracle_record(pool.view, 3);
  REQUIRE(got.size() == 512);
  CHECK(got[0] == 1);
  CHECK(got[63] == 1);
  CHECK(got[64] == 2);
  CHECK(got[4 * 64] == 16);
  CHECK(got[5 * 64] == std::ldexp(1.0, -127));
  CHECK(std::isnan(got[6 * 64]));
  CHECK(got[448] == 0.5);
}

TEST_CASE("mla oracle: two records weigh by their scores and the sink takes its share") {
  SmallPool pool(MlaRecord::bf16);
  test::Memory memory;
  std::byte* q = memory.take_bytes(2 * 2 * 576);  // two heads
  for (std::int64_t d = 0; d < 2 * 576; ++d) store_from_float(q, Dtype::bf16, d, d == 575 ? 1.0f : 0.0f);
  for (const std::int64_t slot : {1, 2})
    for (std::int64_t d = 0; d < 576; ++d)
      store_from_float(pool.view.data + slot * 1152, Dtype::bf16, d, static_cast<float>(slot));
  const float sinks[2] = {0.0f, -HUGE_VALF};
  const MlaProblem problem{.q = q, .pool = pool.view, .heads = 2, .softmax_scale = 1, .sinks = sinks};
  const MlaOracleResult got = mla_oracle(problem, std::vector<MlaOracleRow>{{0, {1, 2}}});
  // Head 0's query is 1 at the rope's end: scores 1 and 2. Head 1's is 0: both score 0, and no sink.
  const double one = std::exp(1.0), two = std::exp(2.0);
  CHECK(got.out[0] == Approx((one + 2 * two) / (1 + one + two)));
  CHECK(got.lse[0] == Approx(std::log(1 + one + two)));
  CHECK(got.max_logits[0] == 2);
  CHECK(got.out[512] == Approx(1.5));
  CHECK(got.lse[1] == Approx(std::log(2.0)));
  CHECK(got.max_logits[1] == 0);
}

TEST_CASE("mla oracle: a row without slots is zeros and its LSE is the sink's") {
  SmallPool pool(MlaRecord::bf16);
  test::Memory memory;
  const std::byte* q = memory.take_bytes(2 * 576);
  const float sink = 3.5f;
  MlaProblem problem{.q = q, .pool = pool.view, .heads = 1, .softmax_scale = 1, .sinks = &sink};
  MlaOracleResult got = mla_oracle(problem, std::vector<MlaOracleRow>{{0, {}}});
  CHECK(got.out == std::vector<double>(512, 0.0));
  CHECK(got.lse[0] == 3.5);
  CHECK(got.max_logits[0] == -kInf);
  problem.sinks = nullptr;
  got = mla_oracle(problem, std::vector<MlaOracleRow>{{0, {}}});
  CHECK(got.lse[0] == -kInf);
}
