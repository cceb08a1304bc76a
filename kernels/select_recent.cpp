#include "kernels/select_recent.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

Access write_plan(const std::int32_t* data, std::uint64_t count) {
  return touch(data, count, Mode::write, Role::plan, Dtype::i32);
}

Contract select_recent_contract(const SelectRecentArgs& args) {
  assert(args.batch.bucket > 0 && args.blocks > 0 && args.blocks <= kSelectedBlocks);
  assert(args.sinks >= 0 && args.sinks <= args.blocks);
  Contract contract;
  touch_batch(contract, args.batch, false);
  contract.accesses.push_back(write_plan(args.selected, elements(args.batch.bucket, kSelectedWidth)));
  return contract;
}

Contract select_slots_contract(const SelectSlotsArgs& args) {
  assert(args.batch.bucket > 0 && args.topk > 0 && args.sinks >= 0 && args.sinks <= args.topk);
  assert(args.pool.pages > 0 && args.pool.page_size > 0 && args.pool.slots() <= INT32_MAX);
  Contract contract;
  touch_batch(contract, args.batch, true);
  contract.accesses.push_back(write_plan(args.indices, elements(args.batch.bucket, args.topk)));
  contract.accesses.push_back(write_plan(args.lengths, elements(args.batch.bucket)));
  return contract;
}

}  // namespace

const Op<SelectRecentArgs> select_recent = {.name = "select_recent",
                                            .contract = select_recent_contract,
                                            .host = select_recent_host,
                                            .launch = select_recent_launch};

const Op<SelectSlotsArgs> select_slots = {.name = "select_slots",
                                          .contract = select_slots_contract,
                                          .host = select_slots_host,
                                          .launch = select_slots_launch};

}  // namespace refrain
