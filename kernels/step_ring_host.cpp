#include <atomic>
#include <cstring>

#include "kernels/host_twins.hpp"
#include "kernels/step_ring.hpp"

namespace refrain {
namespace {

std::byte* slot_of(const RingView& ring) {
  return ring.slots + *ring.counter % ring.depth * ring.slot_bytes;
}

}  // namespace

void ring_take_host(const RingTakeArgs& args) {
  const std::byte* slot = slot_of(args.ring);
  for (std::int32_t i = 0; i < args.count; ++i) {
    const RingField& field = args.fields[static_cast<std::size_t>(i)];
    std::memcpy(field.device, slot + field.offset, field.bytes);
  }
}

void ring_give_host(const RingGiveArgs& args) {
  std::byte* slot = slot_of(args.ring);
  for (std::int32_t i = 0; i < args.count; ++i) {
    const RingField& field = args.fields[static_cast<std::size_t>(i)];
    std::memcpy(slot + field.offset, field.device, field.bytes);
  }
  const std::uint64_t step = *args.ring.counter;
  std::atomic_ref(args.done[step % args.ring.depth]).store(step + 1, std::memory_order_release);
  *args.ring.counter = step + 1;
}

}  // namespace refrain
