#include "kernels/merge_partials.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

Contract merge_partials_contract(const MergePartialsArgs& args) {
  assert(args.slots > 0 && args.heads > 0 && args.partitions > 0 && args.partition_tokens > 0 && args.dim > 0);
  assert(args.slots <= args.bucket && (!args.every_row || args.slots == args.bucket));
  assert(args.partial_dtype == Dtype::fp32 || args.partial_dtype == Dtype::fp16);
  const auto slots = elements(args.slots), heads = elements(args.slots, args.heads);
  const auto splits = heads * elements(args.partitions), rows = elements(args.bucket, args.heads);
  const auto dim = elements(args.dim);
  const Reach reach = args.every_row ? Reach::exact : Reach::may;
  Contract contract;
  contract.waits = contract.triggers = true;
  contract.accesses = {
      touch(static_cast<const std::byte*>(args.partials), splits * dim, Mode::read, Role::workspace, args.partial_dtype,
            Reach::may),
      touch(args.partial_lse, splits, Mode::read, Role::workspace, Dtype::fp32),
      touch(args.counters, heads, Mode::read, Role::scratch, Dtype::i32),
      touch(args.slot_rows, slots, Mode::read, Role::plan, Dtype::i32),
      touch(args.lengths, slots, Mode::read, Role::plan, Dtype::i32),
      touch(static_cast<const std::byte*>(args.out), rows * dim, Mode::write, Role::output, args.out_dtype, reach),
      touch(args.lse, rows, Mode::write, Role::output, Dtype::fp32, reach),
  };
  return contract;
}

}  // namespace

const Op<MergePartialsArgs> merge_partials = {.name = "merge_partials",
                                              .contract = merge_partials_contract,
                                              .host = merge_partials_host,
                                              .launch = merge_partials_launch,
                                              .launch_early = merge_partials_launch_early};

}  // namespace refrain
