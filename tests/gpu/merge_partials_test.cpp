// merge_partials on the device. The exponential is not the host's to the last
// bit, so numbers are compared within a bound; what is NaN, infinite, zero or not
// written at all is compared exactly, and so are two runs of the kernel.
#include "kernels/merge_partials.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_run.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();

struct Shape {
  std::int32_t slots, heads, partitions, dim;
  bool every_row = true;
  Dtype partial_dtype = Dtype::fp32, out_dtype = Dtype::fp16;
};

/// Splits of random lengths; everything that no split wrote stays NaN.
struct Merge {
  Merge(const Shape& shape, Rng& rng) {
    const std::int32_t bucket = shape.every_row ? shape.slots : shape.slots + 3;
    const std::int64_t heads = std::int64_t{shape.slots} * shape.heads, splits = heads * shape.partitions;
    const std::int64_t rows = std::int64_t{bucket} * shape.heads;
    partials = memory.take<std::byte>(splits * shape.dim * static_cast<std::int64_t>(dtype_bytes(shape.partial_dtype)));
    lse = memory.take<float>(splits);
    counters = memory.take<std::int32_t>(heads);
    slot_rows = memory.take<std::int32_t>(shape.slots);
    lengths = memory.take<std::int32_t>(shape.slots);
    args = {.partials = partials,
            .partial_dtype = shape.partial_dtype,
            .partial_lse = lse,
            .counters = counters,
            .slot_rows = slot_rows,
            .lengths = lengths,
            .slots = shape.slots,
            .heads = shape.heads,
            .partitions = shape.partitions,
            .partition_tokens = 100,
            .dim = shape.dim,
            .bucket = bucket,
            .every_row = shape.every_row,
            .out_dtype = shape.out_dtype,
            .out = memory.take<std::byte>(rows * shape.dim * static_cast<std::int64_t>(dtype_bytes(shape.out_dtype))),
            .lse = memory.take<float>(rows)};
    for (std::int32_t slot = 0; slot < shape.slots; ++slot) fill_slot(slot, rng);
  }

  void fill_slot(std::int32_t slot, Rng& rng) const {
    // One slot in eight holds nothing, one needs more splits than there are; slots serve rows in reverse.
    const auto room = static_cast<std::uint64_t>(args.partitions) * 100;
    lengths[slot] = static_cast<std::int32_t>(slot % 8 == 1 ? 0 : slot % 8 == 2 ? room + 1 : rng() % room + 1);
    slot_rows[slot] = args.every_row ? slot : slot % 8 == 3 ? -1 : args.bucket - 1 - slot;
    const std::int32_t needed = (lengths[slot] + 99) / 100;
    std::normal_distribution<float> normal;
    for (std::int32_t head = 0; head < args.heads; ++head) {
      const std::int64_t from = std::int64_t{slot} * args.heads + head;
      counters[from] = rng() % 16 == 0 ? needed + 1 : needed;
      for (std::int32_t p = 0; p < args.partitions; ++p) {
        lse[from * args.partitions + p] = p < needed ? 20 * normal(rng) : kNegativeInf;
        for (std::int32_t d = 0; p < needed && d < args.dim; ++d)
          store_from_float(partials, args.partial_dtype, (from * args.partitions + p) * args.dim + d, normal(rng));
      }
    }
  }

  [[nodiscard]] std::int64_t elements() const { return std::int64_t{args.bucket} * args.heads * args.dim; }

  Memory memory;
  std::byte* partials = nullptr;
  float* lse = nullptr;
  std::int32_t* counters = nullptr;
  std::int32_t* slot_rows = nullptr;
  std::int32_t* lengths = nullptr;
  MergePartialsArgs args;
};

/// Weights of up to a few hundred splits, each within two units of the exponential's last place, and their sum.
bool close(float got, float want, double step) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want || std::abs(double{got} - want) <= 1e-5 + step * std::abs(want);
}

void require_close(const Merge& merge, const std::vector<std::byte>& out, const std::vector<float>& lse) {
  const Dtype dtype = merge.args.out_dtype;
  const double step = dtype == Dtype::fp16 ? 0x1p-10 : dtype == Dtype::bf16 ? 0x1p-7 : 1e-5;
  for (std::int64_t i = 0; i < merge.elements(); ++i) {
    CAPTURE(i);
    REQUIRE(close(load_as_float(out.data(), dtype, i), load_as_float(merge.args.out, dtype, i), step));
  }
  for (std::size_t i = 0; i < lse.size(); ++i) {
    CAPTURE(i);
    REQUIRE(close(lse[i], merge.args.lse[i], 1e-6));
  }
}

/// The outputs of the kernel, after `run` on outputs full of 0xFF.
struct Outputs {
  std::vector<std::byte> out;
  std::vector<float> lse;
};

/// Out and LSE are the last two blocks; every other block must be what it was.
Outputs outputs_of(const Merge& merge, const DeviceCopy& copy, const Memory::Photo& given) {
  Memory::Photo got = copy.download();
  Outputs outputs;
  outputs.lse.resize(static_cast<std::size_t>(merge.args.bucket) * static_cast<std::size_t>(merge.args.heads));
  std::memcpy(outputs.lse.data(), got.back().data(), got.back().size());
  outputs.out = got[got.size() - 2];
  got.back() = given.back();
  got[got.size() - 2] = given[got.size() - 2];
  require_same(got, given);
  return outputs;
}

void require_merged(Merge& merge) {
  const Memory::Photo given = merge.memory.photo();
  DeviceCopy copy(merge.memory);
  const MergePartialsArgs args = on_device(copy, merge.args);
  const auto enqueue = [&](void* stream) { merge_partials.launch(args, stream); };
  run_directly(enqueue);
  const Outputs first = outputs_of(merge, copy, given);
  copy.upload(given);
  Replay replay(enqueue);
  replay.run();
  const Outputs second = outputs_of(merge, copy, given);
  REQUIRE((first.out == second.out));
  REQUIRE(std::memcmp(first.lse.data(), second.lse.data(), first.lse.size() * sizeof(float)) == 0);
  merge_partials.host(merge.args);
  require_close(merge, first.out, first.lse);
}

}  // namespace

TEST_CASE("merge_partials on the device: as the twin, for every dtype, shape and count of splits") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  const Shape shapes[] = {
      {.slots = 9, .heads = 6, .partitions = 9, .dim = 256},
      {.slots = 5, .heads = 6, .partitions = 9, .dim = 256, .every_row = false},
      {.slots = 16, .heads = 32, .partitions = 1, .dim = 128, .out_dtype = Dtype::bf16},
      {.slots = 16, .heads = 8, .partitions = 33, .dim = 64, .partial_dtype = Dtype::fp16},
      {.slots = 3, .heads = 2, .partitions = 1300, .dim = 128, .out_dtype = Dtype::fp32},  // weights in three chunks
      {.slots = 9, .heads = 3, .partitions = 7, .dim = 2, .out_dtype = Dtype::fp32},       // no vector of 4
      {.slots = 9, .heads = 1, .partitions = 5, .dim = 2048, .every_row = false},          // more dims than threads
      {.slots = 9, .heads = 1, .partitions = 5, .dim = 301, .partial_dtype = Dtype::fp16},
  };
  for (const Shape& shape : shapes) {
    CAPTURE(shape.slots, shape.heads, shape.partitions, shape.dim);
    Merge merge(shape, rng);
    require_merged(merge);
  }
}

TEST_CASE("merge_partials on the device: a row that no slot names keeps its bytes") {
  Rng rng(fresh_seed());
  Merge merge({.slots = 5, .heads = 6, .partitions = 4, .dim = 64, .every_row = false, .out_dtype = Dtype::fp32}, rng);
  DeviceCopy copy(merge.memory);
  const Memory::Photo given = merge.memory.photo();
  const MergePartialsArgs args = on_device(copy, merge.args);
  run_directly([&](void* stream) { merge_partials.launch(args, stream); });
  const Outputs got = outputs_of(merge, copy, given);
  const std::size_t row_bytes = 6 * 64 * 4;
  for (std::int32_t row = 0; row < merge.args.bucket; ++row) {
    bool named = false;
    for (std::int32_t slot = 0; slot < merge.args.slots; ++slot) named = named || merge.slot_rows[slot] == row;
    const std::vector<std::byte> untouched(row_bytes, std::byte{0xFF});
    const bool same =
        std::memcmp(got.out.data() + static_cast<std::size_t>(row) * row_bytes, untouched.data(), row_bytes) == 0;
    CHECK(same == !named);
  }
}

TEST_CASE("merge_partials on the device: splits that weigh nothing, everything or NaN give the twin's row") {
  Rng rng(fresh_seed());
  Merge merge({.slots = 6, .heads = 1, .partitions = 4, .dim = 64, .out_dtype = Dtype::fp32}, rng);
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = -kNegativeInf;
  const float lse[6][4] = {{kNegativeInf, kNegativeInf, kNegativeInf, kNegativeInf},  // no finite score: NaN
                           {kNegativeInf, 1, 2, kNegativeInf},
                           {nan, 1, 2, 3},
                           {-2000, 3000, 0, 0},
                           {inf, 1, 2, 3},
                           {-88, -89, -87, -90}};
  for (std::int32_t slot = 0; slot < 6; ++slot) {
    merge.lengths[slot] = 400;
    merge.counters[slot] = 4;
    for (std::int32_t p = 0; p < 4; ++p) {
      merge.lse[4 * slot + p] = lse[slot][p];
      for (std::int64_t d = 0; d < 64; ++d)  // such a split stores zeros
        store_from_float(merge.partials, Dtype::fp32, (std::int64_t{slot} * 4 + p) * 64 + d,
                         lse[slot][p] == kNegativeInf ? 0.0f : static_cast<float>(p) - 1.5f);
    }
  }
  require_merged(merge);
}
