// merge_mla on the device against its twin, on splits of random LSE; some are
// empty and hold NaN, some weigh everything. The exponential is not the host's to
// the last bit, so numbers are compared within a bound.
#include "kernels/merge_mla.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/codec.hpp"
#include "kernels/mla_pool_view.hpp"
#include "tests/gpu/device_run.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();

struct Merge {
  Merge(std::int32_t rows, std::int32_t heads, std::int32_t splits, Rng& rng) {
    const std::int64_t all = std::int64_t{rows} * heads;
    float* partials = memory.take<float>(all * splits * kMlaValueDim);
    float* lse = memory.take<float>(all * splits);
    float* max = memory.take<float>(all * splits);
    float* sinks = memory.take<float>(heads);
    std::int32_t* real = memory.take<std::int32_t>(1);
    std::normal_distribution<float> normal;
    *real = rows - 1;
    for (std::int32_t head = 0; head < heads; ++head) sinks[head] = head % 3 == 0 ? kNegativeInf : 3 * normal(rng);
    for (std::int64_t split = 0; split < all * splits; ++split) {
      const bool empty = split / splits % 5 == 1 || rng() % 3 == 0;  // every fifth head has nothing
      lse[split] = empty ? kNegativeInf : 20 * normal(rng);
      max[split] = empty ? kNegativeInf : lse[split] - 3;
      for (std::int64_t d = 0; !empty && d < kMlaValueDim; ++d) partials[split * kMlaValueDim + d] = normal(rng);
    }
    args = {.partials = partials,
            .partial_lse = lse,
            .partial_max = max,
            .real_rows = real,
            .sinks = sinks,
            .rows = rows,
            .heads = heads,
            .splits = splits,
            .out = memory.take<std::uint16_t>(all * kMlaValueDim),
            .lse = memory.take<float>(all),
            .max_logits = memory.take<float>(all)};
  }
  Memory memory;
  MergeMlaArgs args;
};

bool close(float got, float want, double step) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want || std::abs(double{got} - want) <= 1e-5 + step * std::abs(want);
}

/// Runs the kernel twice, then the twin, and compares.
void require_as_twin(Merge& merge) {
  const Memory::Photo given = merge.memory.photo();
  DeviceCopy copy(merge.memory);
  const MergeMlaArgs device_args = on_device(copy, merge.args);
  const auto enqueue = [&](void* stream) { merge_mla.launch(device_args, stream); };
  run_directly(enqueue);
  const Memory::Photo got = copy.download();
  copy.upload(given);
  Replay(enqueue).run();
  require_same(copy.download(), got);
  const std::size_t all = static_cast<std::size_t>(merge.args.rows) * static_cast<std::size_t>(merge.args.heads);
  merge.memory.restore(got);
  std::vector<std::byte> out(all * kMlaValueDim * 2);
  std::memcpy(out.data(), merge.args.out, out.size());
  const std::vector<float> lse(merge.args.lse, merge.args.lse + all),
      max(merge.args.max_logits, merge.args.max_logits + all);
  merge.memory.restore(given);
  merge_mla.host(merge.args);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(all) * kMlaValueDim; ++i) {
    CAPTURE(i);
    REQUIRE(close(load_as_float(out.data(), Dtype::bf16, i), load_as_float(merge.args.out, Dtype::bf16, i), 0x1p-7));
  }
  for (std::size_t at = 0; at < all; ++at) {
    CAPTURE(at);
    REQUIRE(close(lse[at], merge.args.lse[at], 1e-6));
    REQUIRE(close(max[at], merge.args.max_logits[at], 0));
  }
}

}  // namespace

TEST_CASE("merge_mla on the device: as the twin for any number of splits with sinks and pad rows") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t splits : {1, 2, 7, 16, 33}) {
    Merge merge(3, 16, splits, rng);
    CAPTURE(splits);
    require_as_twin(merge);
    merge.args.sinks = nullptr;
    require_as_twin(merge);
    merge.args.empty_by_value = true;
    require_as_twin(merge);
  }
}
