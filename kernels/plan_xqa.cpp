#include "kernels/plan_xqa.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

void assert_shape([[maybe_unused]] const PlanXqaArgs& args) {
  assert_pool_shape(args.pool);
  assert(args.group_rows == 0 || args.group_rows == kGroupRows);
  assert(args.slots > 0 && args.slots <= args.batch.bucket);
  assert(args.group_rows != 0 || args.slots == args.batch.bucket);
  assert(args.heads > 0 && args.partitions > 0 && args.partition_tokens > 0);
  assert((args.selected == nullptr) == (args.keys == nullptr));
  assert(args.counter_sets > 0);
  assert(args.counters_zeroed >= 0 &&
         args.counters_zeroed <= std::int64_t{args.counter_sets} * args.slots * args.heads);
}

Contract plan_xqa_contract(const PlanXqaArgs& args) {
  assert_shape(args);
  const bool sparse = args.keys != nullptr;
  if (sparse) assert_microblocks(args.pool);
  const auto slots = elements(args.slots);
  Contract contract;
  contract.waits = contract.triggers = true;
  if (sparse)
    contract.accesses.push_back(read_input(args.selected, elements(args.batch.bucket, kSelectedWidth), Dtype::i32));
  touch_batch(contract, args.batch, sparse);
  if (sparse) contract.accesses.push_back(touch(args.keys, slots * kXqaSlots, Mode::write, Role::plan, Dtype::i64));
  contract.accesses.push_back(touch(args.slot_rows, slots, Mode::write, Role::plan, Dtype::i32));
  contract.accesses.push_back(touch(args.lengths, slots, Mode::write, Role::plan, Dtype::i32));
  if (args.active_partitions != nullptr)
    contract.accesses.push_back(touch(args.active_partitions, 1, Mode::write, Role::plan, Dtype::i32));
  if (args.counters_zeroed > 0) {
    const auto zeroed = elements(args.counters_zeroed);
    contract.accesses.push_back(touch(args.counters, zeroed, Mode::write, Role::scratch, Dtype::i32));
    contract.gives = {claim(Fact::zeroed, args.counters, zeroed * dtype_bytes(Dtype::i32))};
  }
  return contract;
}

}  // namespace

const Op<PlanXqaArgs> plan_xqa = {.name = "plan_xqa",
                                  .contract = plan_xqa_contract,
                                  .host = plan_xqa_host,
                                  .launch = plan_xqa_launch,
                                  .launch_early = plan_xqa_launch_early};

}  // namespace refrain
