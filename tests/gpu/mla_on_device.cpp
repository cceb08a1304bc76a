#include "tests/gpu/mla_on_device.hpp"

#include <algorithm>
#include <limits>

namespace refrain::test {
namespace {

constexpr int kReplays = 3;

bool has_entries(const MlaScene& scene, std::int32_t row, std::int32_t split) {
  const std::int32_t length = scene.args.faults.past_length ? scene.shape.topk : scene.lengths[row];
  const std::int32_t first = split * scene.args.split_entries;
  const std::int32_t end = std::min({first + scene.args.split_entries, scene.shape.topk, length});
  for (std::int32_t i = first; i < end; ++i) {
    const std::int32_t slot = scene.indices[std::int64_t{row} * scene.shape.topk + i];
    if (slot >= 0 && slot < scene.args.pool.slots()) return true;
  }
  return false;
}

/// What no split wrote is still poison; every other split, LSE and largest logit has been written.
void require_split_writes(const MlaScene& scene) {
  const SparseMlaArgs& args = scene.args;
  const SparseMlaFaults& faults = args.faults;
  const bool all = faults.clamp_to_slot0 || faults.neg_inf_max || faults.mask_before_scale;
  for (std::int64_t at = 0; at < std::int64_t{args.rows} * args.heads * args.splits; ++at) {
    const auto row = static_cast<std::int32_t>(at / args.splits / args.heads);
    const bool real = row < scene.shape.rows;
    const bool written = real && (all || has_entries(scene, row, static_cast<std::int32_t>(at % args.splits)));
    const auto* partial = reinterpret_cast<const std::byte*>(args.partials + at * kMlaValueDim);
    const bool poison =
        std::all_of(partial, partial + 4 * kMlaValueDim, [](std::byte byte) { return byte == std::byte{0xFF}; });
    INFO("split " << at);
    REQUIRE(poison == !written);
    if (written) continue;
    REQUIRE(args.partial_lse[at] == -std::numeric_limits<float>::infinity());
    REQUIRE(args.partial_max[at] == -std::numeric_limits<float>::infinity());
  }
}

}  // namespace

void run_on_device(MlaScene& scene, MlaRoute route) {
  scene.poison_outputs();
  const Memory::Photo given = scene.memory.photo();
  DeviceCopy copy(scene.memory);
  const SparseMlaArgs args = on_device(copy, scene.args);
  const MergeMlaArgs merge = on_device(copy, scene.merge);
  const auto enqueue = [&](void* stream) {
    if (route == MlaRoute::prefill) return sparse_mla_prefill.launch(args, stream);
    sparse_mla_decode.launch(args, stream);
    merge_mla.launch(merge, stream);
  };
  run_directly(enqueue);
  const Memory::Photo got = copy.download();
  Replay replay(enqueue);
  for (int i = 0; i < kReplays; ++i) {
    copy.upload(given);
    replay.run();
    require_same(copy.download(), got);
  }
  scene.memory.restore(got);
  if (route == MlaRoute::decode) require_split_writes(scene);
  scene.poison_outputs();
  require_same(scene.memory.photo(), given);  // the inputs
  scene.memory.restore(got);
}

}  // namespace refrain::test
