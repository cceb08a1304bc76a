// The decoder ops' Args with pointers into a DeviceCopy, and their run on the
// device: launched and replayed over differently poisoned outputs, the same bytes
// every time, and no byte changed that the contract does not name.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/gemm_plans.hpp"
#include "tests/gpu/device_run.hpp"
#include "tests/kernels/decoder_cases.hpp"

namespace refrain::test {

[[nodiscard]] EmbedArgs on_device(const DeviceCopy& copy, EmbedArgs args);
[[nodiscard]] SampleArgs on_device(const DeviceCopy& copy, SampleArgs args);
[[nodiscard]] ArgmaxArgs on_device(const DeviceCopy& copy, ArgmaxArgs args);
[[nodiscard]] RopeAppendArgs on_device(const DeviceCopy& copy, RopeAppendArgs args);
[[nodiscard]] SiluMulArgs on_device(const DeviceCopy& copy, SiluMulArgs args);
[[nodiscard]] RmsNormArgs on_device(const DeviceCopy& copy, RmsNormArgs args);

/// False where cuBLASLt is not installed; it has said so.
[[nodiscard]] bool make_gemm_plans(std::optional<GemmPlans>& plans, std::int64_t workspace_bytes);

/// Bytes outside everything that the contract may change are what they were.
void require_no_stray(const Contract& contract, const Memory& memory, const Memory::Photo& got,
                      const Memory::Photo& given);

/// Leaves the memory as the kernel leaves it.
template <class Args>
void run_device(const Op<Args>& op, const Args& args, Memory& memory) {
  INFO("op " << op.name);
  const Contract contract = op.contract(args);
  const Memory::Photo given = memory.photo();
  DeviceCopy copy(memory);
  const Args device_args = on_device(copy, args);
  const auto enqueue = [&](void* stream) { op.launch(device_args, stream); };
  run_directly(enqueue);  // loads the kernel before a capture needs it
  copy.upload(given);
  Replay replay(enqueue);
  Memory::Photo first;
  for (const int pattern : {0xA5, 0x5A}) {
    memory.restore(given);
    fill_writes(contract, pattern, true);
    const Memory::Photo poisoned = memory.photo();
    copy.upload(poisoned);
    run_directly(enqueue);
    const Memory::Photo direct = copy.download();
    if (first.empty()) first = direct;
    require_same(direct, first);
    copy.upload(poisoned);
    replay.run();
    require_same(copy.download(), first);
  }
  require_no_stray(contract, memory, first, given);
  memory.restore(first);
}

}  // namespace refrain::test
