#include "kernels/pad_fix.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

Contract pad_fix_contract(const PadFixArgs& args) {
  assert(args.groups >= 0 && args.width > 0);
  const auto count = elements(args.groups, args.width);
  Contract contract;
  contract.waits = contract.triggers = true;
  contract.accesses = {
      touch(args.microblocks, count, Mode::read_write, Role::plan, Dtype::i32),
      touch(args.masks, count, Mode::read, Role::plan, Dtype::u32),
  };
  contract.gives = {claim(Fact::pad_fixed, args.microblocks, count * dtype_bytes(Dtype::i32))};
  return contract;
}

}  // namespace

const Op<PadFixArgs> pad_fix = {.name = "pad_fix",
                                .contract = pad_fix_contract,
                                .host = pad_fix_host,
                                .launch = pad_fix_launch,
                                .launch_early = pad_fix_launch_early};

}  // namespace refrain
