#include "kernels/kv_append.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

Contract kv_append_contract(const KvAppendArgs& args) {
  assert_pool_shape(args.pool);
  assert(args.input_dtype == Dtype::fp16 || args.input_dtype == Dtype::bf16 || args.input_dtype == Dtype::fp32);
  const auto rows = elements(args.batch.bucket, args.pool.kv_heads, args.pool.dim);
  Contract contract;
  contract.waits = contract.triggers = true;
  contract.accesses.push_back(read_input(args.k, rows, args.input_dtype));
  contract.accesses.push_back(read_input(args.v, rows, args.input_dtype));
  touch_batch(contract, args.batch, true);
  touch_scales(contract, args.k_scale, args.v_scale);
  contract.accesses.push_back(append_to_pool(args.pool));
  if (args.pad_rows_to_null_block) contract.accesses.back().range.begin = 0;  // the named fault
  return contract;
}

}  // namespace

const Op<KvAppendArgs> kv_append = {.name = "kv_append",
                                    .contract = kv_append_contract,
                                    .host = kv_append_host,
                                    .launch = kv_append_launch,
                                    .launch_early = kv_append_launch_early};

}  // namespace refrain
