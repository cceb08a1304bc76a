#include "kernels/grouped_attention.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

Contract grouped_attention_contract(const GroupedAttentionArgs& args) {
  assert_microblocks(args.pool);
  assert(args.q_dtype == Dtype::fp16 || args.q_dtype == Dtype::bf16);
  assert(args.bucket > 0 && args.groups == (args.bucket + kGroupRows - 1) / kGroupRows);
  const auto rows = elements(args.bucket, kGroupedHeads), plan = elements(args.groups, kGroupedWidth);
  const auto dim = elements(args.pool.dim);
  Contract contract;
  contract.waits = contract.triggers = true;
  contract.accesses = {
      read_input(args.q, rows * dim, args.q_dtype),
      read_pool(args.pool),
      touch(args.microblocks, plan, Mode::read, Role::plan, Dtype::i32),
      touch(args.masks, plan, Mode::read, Role::plan, Dtype::u32),
      touch(args.tokens, elements(args.groups), Mode::read, Role::plan, Dtype::i32),
      touch(static_cast<const std::byte*>(args.out), rows * dim, Mode::write, Role::output, args.q_dtype),
      touch(args.lse, rows, Mode::write, Role::output, Dtype::fp32),
  };
  touch_scales(contract, args.k_scale, args.v_scale);
  contract.needs = {claim(Fact::pad_fixed, args.microblocks, plan * dtype_bytes(Dtype::i32))};
  return contract;
}

}  // namespace

const Op<GroupedAttentionArgs> grouped_attention = {.name = "grouped_attention",
                                                    .contract = grouped_attention_contract,
                                                    .host = grouped_attention_host,
                                                    .launch = grouped_attention_launch,
                                                    .launch_early = grouped_attention_launch_early};

}  // namespace refrain
