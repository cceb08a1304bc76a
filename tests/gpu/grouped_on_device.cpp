#include "tests/gpu/grouped_on_device.hpp"

#include <algorithm>
#include <cstring>

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

GroupedOutputs run_grouped_on_device(GroupedRun& run, bool with_pad_fix, bool zero_unattended) {
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
  const auto enqueue = [&](void* stream) { grouped_attention.launch(args, stream); };
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

}  // namespace refrain::test
