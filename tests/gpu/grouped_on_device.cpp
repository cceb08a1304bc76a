#include "tests/gpu/grouped_on_device.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/device_code.hpp"
#include "kernels/grouped_attention_kernels.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_run.hpp"

namespace refrain::test {
namespace {

/// Takes out and lse from the device; every other block must be as given.
GroupedOutputs take_outputs(const DeviceCopy& copy, const Memory::Photo& given) {
  Memory::Photo got = copy.download();
  GroupedOutputs outputs;
  outputs.out = got[got.size() - 2];
  outputs.lse.resize(got.back().size() / sizeof(float));
  std::memcpy(outputs.lse.data(), got.back().data(), got.back().size());
  got.back() = given.back();
  got[got.size() - 2] = given[given.size() - 2];
  require_same(got, given);
  return outputs;
}

}  // namespace

bool operator==(const GroupedOutputs& a, const GroupedOutputs& b) {
  return a.out == b.out && a.lse.size() == b.lse.size() &&
         std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

std::vector<GroupedKernel> grouped_kernels() {
  std::vector<GroupedKernel> kernels = {{"the op's", grouped_attention.launch}};
  if (has_wgmma())
    kernels.push_back({"warp-wide", [](const GroupedAttentionArgs& args, void* stream) {
                         grouped_attention_mma_launch(args, stream);
                       }});
  return kernels;
}

GroupedOutputs run_grouped_on_device(const GroupedKernel& kernel, GroupedRun& run, bool with_pad_fix,
                                     bool zero_unattended) {
  Memory& memory = run.scene.memory;
  plan_grouped.host(run.plan);
  if (with_pad_fix) pad_fix.host(run.fix);
  GroupedAttentionArgs args = run.attention;
  args.zero_unattended = zero_unattended;
  Memory::Photo given = memory.photo();
  std::fill(given[given.size() - 2].begin(), given[given.size() - 2].end(), std::byte{0xA5});
  std::fill(given.back().begin(), given.back().end(), std::byte{0xA5});
  DeviceCopy copy(memory);
  args = on_device(copy, args);
  const auto enqueue = [&](void* stream) { kernel.launch(args, stream); };
  copy.upload(given);
  run_directly(enqueue);
  const GroupedOutputs first = take_outputs(copy, given);
  std::fill(given[given.size() - 2].begin(), given[given.size() - 2].end(), std::byte{0x5A});
  std::fill(given.back().begin(), given.back().end(), std::byte{0x5A});
  copy.upload(given);
  Replay replay(enqueue);
  for (int i = 0; i < 2; ++i) {
    replay.run();
    REQUIRE((take_outputs(copy, given) == first));
  }
  return first;
}

std::vector<OracleRow> planned_rows(const Scene& scene) {
  std::vector<OracleRow> rows;
  for (std::int32_t row = 0; row < *scene.rows / 8 * 8; ++row)
    rows.push_back(scene.oracle_row(row, scene.selected_tokens(row)));
  return rows;
}

void require_right(const Scene& scene, const GroupedOutputs& got) {
  const Compared worst = compare(scene, got.out.data(), got.lse.data(), planned_rows(scene));
  CHECK(worst.out <= 1.0);
  CHECK(worst.lse <= 1.0);
}

void require_hurt(const GroupedOutputs& clean, const GroupedOutputs& got, Dtype q, const Flags& hurt) {
  const auto* before = reinterpret_cast<const std::uint16_t*>(clean.out.data());
  const auto* after = reinterpret_cast<const std::uint16_t*>(got.out.data());
  std::size_t not_nan = 0, changed = 0;
  for (std::size_t i = 0; i < hurt.size(); ++i) {
    if (hurt[i])
      not_nan += is_nan(after, q, static_cast<std::int64_t>(i)) ? 0 : 1;
    else
      changed += before[i] == after[i] ? 0 : 1;
  }
  CHECK(not_nan == 0);
  CHECK(changed == 0);
}

Flags attending_elements(const Scene& scene, std::int32_t request, std::int64_t token, std::int64_t dim) {
  Flags hurt(static_cast<std::size_t>(scene.batch.bucket) * kGroupedHeads * 256);
  for (std::int32_t row = 0; row < *scene.rows / 8 * 8; ++row) {
    if (scene.token_to_req[row] != request) continue;
    const std::vector<std::int64_t> tokens = scene.selected_tokens(row);
    if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) continue;
    for (std::int64_t i = 0; i < kGroupedHeads * 256; ++i)
      if (dim < 0 || i % 256 == dim) hurt[static_cast<std::size_t>(std::int64_t{row} * kGroupedHeads * 256 + i)] = true;
  }
  return hurt;
}

}  // namespace refrain::test
