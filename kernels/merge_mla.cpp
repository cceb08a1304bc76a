#include "kernels/merge_mla.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/mla_pool_view.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

Contract merge_mla_contract(const MergeMlaArgs& args) {
  assert(args.rows > 0 && args.heads > 0 && args.splits > 0);
  assert(args.max_logits == nullptr || args.partial_max != nullptr);
  const auto heads = elements(args.rows, args.heads), splits = heads * elements(args.splits);
  const auto dim = elements(kMlaValueDim);
  Contract contract;
  contract.accesses = {
      touch(args.partials, splits * dim, Mode::read, Role::workspace, Dtype::fp32, Reach::may),
      touch(args.partial_lse, splits, Mode::read, Role::workspace, Dtype::fp32),
      touch(static_cast<const std::byte*>(args.out), heads * dim, Mode::write, Role::output, Dtype::bf16),
      touch(args.lse, heads, Mode::write, Role::output, Dtype::fp32),
  };
  if (args.max_logits != nullptr) {
    contract.accesses.push_back(touch(args.partial_max, splits, Mode::read, Role::workspace, Dtype::fp32));
    contract.accesses.push_back(touch(args.max_logits, heads, Mode::write, Role::output, Dtype::fp32));
  }
  if (args.real_rows != nullptr) contract.accesses.push_back(read_input(args.real_rows, 1, Dtype::i32));
  if (args.sinks != nullptr)
    contract.accesses.push_back(touch(args.sinks, elements(args.heads), Mode::read, Role::weights, Dtype::fp32));
  return contract;
}

}  // namespace

const Op<MergeMlaArgs> merge_mla = {
    .name = "merge_mla", .contract = merge_mla_contract, .host = merge_mla_host, .launch = merge_mla_launch};

}  // namespace refrain
