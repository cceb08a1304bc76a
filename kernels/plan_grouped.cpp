#include "kernels/plan_grouped.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

Contract plan_grouped_contract(const PlanGroupedArgs& args) {
  assert_microblocks(args.pool);
  assert(args.batch.bucket > 0 && args.groups == (args.batch.bucket + kGroupRows - 1) / kGroupRows);
  const auto plan = elements(args.groups, kGroupedWidth);
  Contract contract;
  contract.waits = contract.triggers = true;
  contract.accesses.push_back(read_input(args.selected, elements(args.batch.bucket, kSelectedWidth), Dtype::i32));
  touch_batch(contract, args.batch, true);
  contract.accesses.push_back(touch(args.microblocks, plan, Mode::write, Role::plan, Dtype::i32));
  contract.accesses.push_back(touch(args.masks, plan, Mode::write, Role::plan, Dtype::u32));
  contract.accesses.push_back(touch(args.tokens, elements(args.groups), Mode::write, Role::plan, Dtype::i32));
  if (args.fix_padding) contract.gives = {claim(Fact::pad_fixed, args.microblocks, plan * dtype_bytes(Dtype::i32))};
  return contract;
}

}  // namespace

const Op<PlanGroupedArgs> plan_grouped = {.name = "plan_grouped",
                                          .contract = plan_grouped_contract,
                                          .host = plan_grouped_host,
                                          .launch = plan_grouped_launch,
                                          .launch_early = plan_grouped_launch_early};

}  // namespace refrain
