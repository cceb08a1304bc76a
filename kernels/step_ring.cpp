#include "kernels/step_ring.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

void assert_shape([[maybe_unused]] const RingView& ring, [[maybe_unused]] const RingField* fields,
                  [[maybe_unused]] std::int32_t count) {
  assert(ring.depth > 0 && ring.slot_bytes % 16 == 0 && count > 0 && count <= kRingFields);
  for (std::int32_t i = 0; i < count; ++i)
    assert(fields[i].offset % 16 == 0 && fields[i].offset + fields[i].bytes <= ring.slot_bytes);
}

Access touch_field(const RingField& field, Mode mode) {
  return {reinterpret_cast<Address>(field.device), {0, field.bytes}, mode, Reach::exact, field.role, field.dtype};
}

Access touch_slots(const RingView& ring, Mode mode, Role role) {
  return touch(ring.slots, ring.depth * ring.slot_bytes, mode, role, Dtype::u8, Reach::may);
}

Contract take_contract(const RingTakeArgs& args) {
  assert_shape(args.ring, args.fields.data(), args.count);
  Contract contract;
  contract.accesses = {touch_slots(args.ring, Mode::read, Role::input),
                       touch(args.ring.counter, 1, Mode::read, Role::state, Dtype::i64)};
  for (std::int32_t i = 0; i < args.count; ++i)
    contract.accesses.push_back(touch_field(args.fields[static_cast<std::size_t>(i)], Mode::write));
  return contract;
}

Contract give_contract(const RingGiveArgs& args) {
  assert_shape(args.ring, args.fields.data(), args.count);
  Contract contract;
  for (std::int32_t i = 0; i < args.count; ++i)
    contract.accesses.push_back(touch_field(args.fields[static_cast<std::size_t>(i)], Mode::read));
  contract.accesses.push_back(touch_slots(args.ring, Mode::write, Role::output));
  contract.accesses.push_back(touch(args.done, args.ring.depth, Mode::write, Role::state, Dtype::i64, Reach::may));
  contract.accesses.push_back(touch(args.ring.counter, 1, Mode::read_write, Role::state, Dtype::i64));
  return contract;
}

}  // namespace

const Op<RingTakeArgs> ring_take = {
    .name = "ring_take", .contract = take_contract, .host = ring_take_host, .launch = ring_take_launch};

const Op<RingGiveArgs> ring_give = {
    .name = "ring_give", .contract = give_contract, .host = ring_give_host, .launch = ring_give_launch};

}  // namespace refrain
