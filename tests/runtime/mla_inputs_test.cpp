// What a sparse MLA step is made of on the host: records that decode to what was
// encoded, and index lists that hold every kind of entry that must not matter.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <span>

#include "kernels/mla_encode.hpp"
#include "kernels/mla_oracle.hpp"
#include "runtime/steps/mla/inputs.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

constexpr MlaRecord kRecords[] = {MlaRecord::bf16, MlaRecord::e4m3_656, MlaRecord::e4m3_584};

struct Pool {
  Pool(MlaRecord record, std::int32_t page_size) {
    view = {nullptr, 3, page_size, record};
    bytes.assign(view.bytes(), std::byte{0xFF});
    view.data = bytes.data();
  }
  MlaPoolView view;
  std::vector<std::byte> bytes;
};

/// Half a step at `value`: bf16 has 8 bits of precision, E4M3 4 of value / scale, and 2^-9 below 2^-6.
double half_bf16_step(double value) {
  return value == 0 ? 0 : std::ldexp(1.0, std::ilogb(value) - 8);
}
double half_e4m3_step(double value, double scale) {
  return value == 0 ? 0 : scale * std::ldexp(1.0, std::max(std::ilogb(value / scale) - 3, -9) - 1);
}

/// The largest magnitude of a group is 448, or between 224 and 448 with a power of two as the scale.
double scale_of(std::span<const float> group, MlaRecord record) {
  double largest = 0;
  for (const float value : group) largest = std::max(largest, std::abs(double{value}));
  return record == MlaRecord::e4m3_584 ? std::exp2(std::ceil(std::log2(largest / 448))) : largest / 448;
}

/// The largest error in half steps, over the values of one slot.
double worst(const Pool& pool, std::int64_t slot, const std::vector<float>& values) {
  const MlaRecord record = pool.view.record;
  const std::vector<double> decoded = mla_oracle_record(pool.view, slot);
  const std::size_t codes = record == MlaRecord::bf16 ? 0 : record == MlaRecord::e4m3_656 ? 512 : 448;
  const std::size_t group = record == MlaRecord::e4m3_584 ? 64 : 128;
  double worst_share = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double allowed =
        i >= codes ? half_bf16_step(values[i])
                   : half_e4m3_step(values[i], scale_of(std::span(values).subspan(i / group * group, group), record));
    // fp32 rounds the scale and the quotient, so a tie may fall to either side.
    const double error = std::abs(decoded[i] - double{values[i]});
    worst_share = std::max(worst_share, std::isnan(error) ? HUGE_VAL : error == 0 ? 0 : error / (allowed * 1.0001));
  }
  return worst_share;
}

StepOptions options_of(std::int32_t rows, std::int32_t context, std::int32_t topk = 128) {
  StepOptions options;
  options.step = StepKind::mla_decode;
  options.rows = rows;
  options.context = context;
  options.topk = topk;
  options.heads = 8;
  return default_options(options);
}

}  // namespace

TEST_CASE("mla inputs: every format decodes to within half a step of what went in") {
  std::mt19937_64 random(7);
  for (const MlaRecord record : kRecords)
    for (const float deviation : {1e-6f, 0.01f, 1.0f, 100.0f}) {
      Pool pool(record, 64);
      std::normal_distribution<float> normal(0.0f, deviation);
      for (const std::int64_t slot : {0, 1, 63, 64, 191}) {
        std::vector<float> values(static_cast<std::size_t>(pool.view.dim()));
        std::generate(values.begin(), values.end(), [&] { return normal(random); });
        encode_mla_record(pool.view, slot, values);
        INFO("record " << static_cast<int>(record) << " deviation " << deviation << " slot " << slot);
        CHECK(worst(pool, slot, values) <= 1.0);
      }
    }
}

TEST_CASE("mla inputs: a group of zeros is zeros, and a power of two is exact") {
  for (const MlaRecord record : kRecords) {
    Pool pool(record, 256);
    std::vector<float> values(static_cast<std::size_t>(pool.view.dim()), 0.0f);
    values[200] = 448.0f;
    values[201] = -0.5f;
    encode_mla_record(pool.view, 300, values);
    const std::vector<double> decoded = mla_oracle_record(pool.view, 300);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(decoded[i] == double{values[i]});
  }
}

TEST_CASE("mla inputs: an encoded record writes its own bytes and its footer alone") {
  for (const MlaRecord record : kRecords) {
    Pool pool(record, 64);
    encode_mla_record(pool.view, 65, std::vector<float>(static_cast<std::size_t>(pool.view.dim()), 1.0f));
    // Token 1 of page 1; for e4m3_584 pages of 37,440 bytes with footers of 8 bytes from 36,864 on.
    const std::size_t page = record == MlaRecord::bf16 ? 64 * 1152 : record == MlaRecord::e4m3_656 ? 64 * 656 : 37'440;
    const std::size_t bytes = record == MlaRecord::bf16 ? 1152 : record == MlaRecord::e4m3_656 ? 656 : 576;
    for (std::size_t i = 0; i < pool.bytes.size(); ++i) {
      const bool data = i >= page + bytes && i < page + 2 * bytes;
      const bool footer = record == MlaRecord::e4m3_584 && i >= page + 36'864 + 8 && i < page + 36'864 + 16;
      if (!data && !footer) REQUIRE(pool.bytes[i] == std::byte{0xFF});
    }
  }
}

TEST_CASE("mla inputs: lists hold gaps and masked chunks before and after and short lengths and an empty row") {
  const StepOptions o = options_of(8, 700, 512);
  const MlaInputs in = make_mla_inputs(o);
  const auto list = [&](std::size_t row) { return std::span(in.indices).subspan(row * 512, 512); };
  const auto none = [](std::span<const std::int32_t> entries) {
    return std::all_of(entries.begin(), entries.end(), [](std::int32_t slot) { return slot == -1; });
  };
  const auto count = [](std::span<const std::int32_t> entries) {
    return std::count(entries.begin(), entries.end(), -1);
  };
  CHECK(count(list(0)) == 0);
  CHECK(count(list(1)) > 64);
  CHECK(count(list(1)) < 256);
  CHECK(none(list(2).first(64)));
  CHECK(count(list(2)) == 64);
  CHECK(none(list(3).last(64)));
  CHECK(count(list(3)) == 64);
  CHECK(in.lengths[4] == 259);
  CHECK(none(list(7)));
  CHECK(in.lengths == std::vector<std::int32_t>{512, 512, 512, 512, 259, 512, 512, 512});
}

TEST_CASE("mla inputs: rows name visible tokens of their own request once, and no page that nobody owns") {
  StepOptions o = options_of(24, 300, 128);
  o.requests = 3;
  const MlaInputs in = make_mla_inputs(o);
  std::set<std::int32_t> owned;
  for (const auto& pages : in.pages) owned.insert(pages.begin(), pages.end());
  CHECK(owned.size() == 6);
  CHECK_FALSE(owned.contains(0));
  CHECK(in.unused_pages.size() == 2);
  for (const std::int32_t page : in.unused_pages) CHECK_FALSE(owned.contains(page));
  for (std::int32_t row = 0; row < 24; ++row) {
    const std::vector<std::int64_t> slots = attended_slots(o, in, row);
    CHECK(std::set<std::int64_t>(slots.begin(), slots.end()).size() == slots.size());
    const auto& pages = in.pages[static_cast<std::size_t>(row / 8)];
    const std::int32_t visible = 300 - 8 + row % 8 + 1;
    for (const std::int64_t slot : slots) {
      const auto page = std::find(pages.begin(), pages.end(), static_cast<std::int32_t>(slot / 256));
      REQUIRE(page != pages.end());
      CHECK((page - pages.begin()) * 256 + slot % 256 < visible);
    }
  }
}

TEST_CASE("mla inputs: what stands past a length is a slot of the pool that no row attends") {
  for (const std::int32_t context : {0, 1, 3, 64, 700}) {
    const StepOptions o = options_of(5, context, 64);
    const MlaInputs in = make_mla_inputs(o);
    REQUIRE(in.lengths[2] == 64);
    CHECK(in.stale_slot > 0);
    CHECK(in.stale_slot < mla_pool_shape(o).slots());
    for (std::int32_t row = 0; row < 5; ++row)
      for (const std::int64_t slot : attended_slots(o, in, row)) CHECK(slot != in.stale_slot);
  }
  const StepOptions o = options_of(6, 700, 512);
  const MlaInputs in = make_mla_inputs(o);
  for (std::size_t i = 4 * 512 + 259; i < 5 * 512; ++i) CHECK(in.indices[i] == in.stale_slot);
}

TEST_CASE("mla inputs: a pool for 32-bit offsets reaches past 2 GiB, and only its top pages have bytes on the host") {
  StepOptions o = options_of(8, 700, 512);
  o.faults.add(Fault::split_int32_offsets);
  const MlaPoolView shape = mla_pool_shape(o);
  const MlaInputs in = make_mla_inputs(o);
  CHECK((4 * shape.pages - 1) * 37'440 > std::int64_t{1} << 31);  // where the scratch's last page begins
  CHECK((shape.pages - 1) * 149'760 < std::int64_t{1} << 31);     // and the pool's
  CHECK(in.pages.back().back() == shape.pages - 1);
  CHECK(in.pool.size() == 5 * 149'760);  // three of 256 tokens and two that nobody owns
}
