// What NaN and Inf do in grouped_attention on the device: with the protection they hurt
// who attends them and nobody else by a bit; without it NaN stands where the twin has it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/grouped_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

const std::vector<std::int32_t> kReportDims = {102, 152, 168, 170, 230};

std::vector<bool> nan_places(const Scene& scene, const void* out) {
  const std::int64_t total = std::int64_t{scene.batch.bucket} * kGroupedHeads * scene.pool.dim;
  std::vector<bool> places(static_cast<std::size_t>(total));
  for (std::int64_t i = 0; i < total; ++i) places[static_cast<std::size_t>(i)] = is_nan(out, scene.shape.q_dtype, i);
  return places;
}

std::int64_t count(const std::vector<bool>& places) {
  return std::count(places.begin(), places.end(), true);
}

/// The null block finite everywhere, but for V of tokens 0..3 at five dims where wanted.
void fill_null_block(Scene& scene, bool with_nan) {
  std::memset(scene.pool.data, 0x3A, scene.pool.page_bytes());
  std::byte* v = scene.pool.data + scene.pool.plane_elements();
  for (std::int32_t token = 0; with_nan && token < 4; ++token)
    for (const std::int32_t dim : kReportDims) v[token * scene.pool.dim + dim] = std::byte{0x7F};
}

}  // namespace

TEST_CASE("grouped on the device: the first report, 480 NaN at its five dims, none with either fix, the same bytes") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({}, rng);  // 19 rows, one request, 2048 tokens, page 32, E4M3
  scene.select_first();
  GroupedRun run(scene);
  fill_null_block(scene, true);

  const std::vector<bool> bad = nan_places(scene, run_grouped_on_device(kernel, run, false, false).out.data());
  CHECK(count(bad) == 480);
  std::set<std::int32_t> dims;
  for (std::size_t i = 0; i < bad.size(); ++i)
    if (bad[i]) dims.insert(static_cast<std::int32_t>(i % 256));
  CHECK(dims == std::set<std::int32_t>(kReportDims.begin(), kReportDims.end()));
  run.run(false, false);
  CHECK((bad == nan_places(scene, run.attention.out)));

  const GroupedOutputs with_pad_fix = run_grouped_on_device(kernel, run, true, false);
  const GroupedOutputs with_zero = run_grouped_on_device(kernel, run, false, true);
  CHECK(count(nan_places(scene, with_pad_fix.out.data())) == 0);
  CHECK((with_pad_fix == with_zero));
  CHECK((with_zero == run_grouped_on_device(kernel, run, true, true)));
  require_right(scene, with_zero);
}

TEST_CASE("grouped on the device: without protection NaN stands exactly where the twin has it") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t length : {402, 1000, 2048}) {
    Scene scene({.lengths = {length, length - 1}, .rows = {13, 12}}, rng);  // tails are NaN
    scene.select(rng);
    GroupedRun run(scene);
    fill_null_block(scene, true);
    for (const bool with_pad_fix : {false, true}) {
      CAPTURE(length, with_pad_fix);
      const GroupedOutputs got = run_grouped_on_device(kernel, run, with_pad_fix, false);
      run.run(with_pad_fix, false);
      CHECK((nan_places(scene, got.out.data()) == nan_places(scene, run.attention.out)));
    }
    require_right(scene, run_grouped_on_device(kernel, run, false, true));
  }
}

TEST_CASE("grouped on the device: with finite padding all four combinations of the fixes give the same bytes") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({.lengths = {804, 400}, .rows = {13, 11}}, rng);
  scene.select(rng);
  GroupedRun run(scene);
  fill_null_block(scene, false);
  const GroupedOutputs want = run_grouped_on_device(kernel, run, true, true);
  for (const auto& [fix, zero] : {std::pair{false, false}, {false, true}, {true, false}})
    CHECK((run_grouped_on_device(kernel, run, fix, zero) == want));
}

TEST_CASE("grouped on the device: a NaN V element hurts the queries that attend it and nobody else by one bit") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Dtypes& dtypes : kGroupedDtypes) {
    Scene scene({.lengths = {900, 333}, .rows = {4, 12}, .kv_dtype = dtypes.kv, .q_dtype = dtypes.q}, rng);
    scene.select(rng);
    // Query 1 alone keeps block 19 (tokens 76..79) of request 0; its neighbours drop it.
    for (const std::int64_t row : {0, 2, 3})
      for (std::int64_t i = 0; i < kSelectedWidth; ++i) {
        std::int32_t& token = scene.selected[row * kSelectedWidth + i];
        if (token / 4 == 19) token = -1;
      }
    GroupedRun run(scene);
    const GroupedOutputs clean = run_grouped_on_device(kernel, run, true, true);
    const std::size_t bytes = dtype_bytes(dtypes.kv);
    CAPTURE(to_string(dtypes.kv), to_string(dtypes.q));
    std::memset(scene.v_row(0, 77) + 10 * bytes, 0xFF, bytes);
    Flags hurt = attending_elements(scene, 0, 77, 10);
    require_hurt(clean, run_grouped_on_device(kernel, run, true, true), dtypes.q, hurt);
    std::memset(scene.v_row(1, 200) + 201 * bytes, 0xFF, bytes);
    const Flags other = attending_elements(scene, 1, 200, 201);
    for (std::size_t i = 0; i < hurt.size(); ++i) hurt[i] = hurt[i] || other[i];
    require_hurt(clean, run_grouped_on_device(kernel, run, true, true), dtypes.q, hurt);
  }
}

TEST_CASE("grouped on the device: an infinite V element makes its queries infinite and nobody NaN") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({.lengths = {200, 333}, .rows = {4, 4}, .kv_dtype = Dtype::fp16}, rng);
  scene.select(rng);
  GroupedRun run(scene);
  const GroupedOutputs clean = run_grouped_on_device(kernel, run, true, true);
  store_from_float(scene.v_row(0, 77), Dtype::fp16, 10, -INFINITY);
  const GroupedOutputs got = run_grouped_on_device(kernel, run, true, true);
  const auto* before = reinterpret_cast<const std::uint16_t*>(clean.out.data());
  const auto* after = reinterpret_cast<const std::uint16_t*>(got.out.data());
  for (std::size_t i = 0; i < 8 * 6 * 256; ++i) {
    CAPTURE(i);
    REQUIRE(after[i] == (i / 256 / 6 < 4 && i % 256 == 10 ? 0xFC00u : before[i]));
  }
}

TEST_CASE("grouped on the device: a NaN in K or Q hurts its own queries at every dim and nobody else") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const bool zero : {true, false}) {
    Scene scene({.lengths = {200, 332}, .rows = {4, 4}}, rng);  // no tails, which would hurt without protection
    scene.select(rng);
    GroupedRun run(scene);
    std::memset(scene.pool.data, 0, scene.pool.page_bytes());
    const GroupedOutputs clean = run_grouped_on_device(kernel, run, true, zero);
    scene.k_row(0, 77)[10] = std::byte{0x7F};
    CAPTURE(zero);
    Flags hurt = attending_elements(scene, 0, 77, -1);
    require_hurt(clean, run_grouped_on_device(kernel, run, true, zero), Dtype::fp16, hurt);
    std::memset(scene.q + 5 * kGroupedHeads * 256 * 2, 0xFF, kGroupedHeads * 256 * 2);
    for (std::size_t i = 5 * 6 * 256; i < 6 * 6 * 256; ++i) hurt[i] = true;
    require_hurt(clean, run_grouped_on_device(kernel, run, true, zero), Dtype::fp16, hurt);
  }
}
