#include "kernels/rope_append.hpp"

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

Contract rope_append_contract(const RopeAppendArgs& args) {
  assert_half(args.dtype);
  assert_pool_shape(args.pool);
  assert(args.batch.bucket > 0 && args.heads > 0 && args.theta > 0);
  assert(args.rotary_dim > 0 && args.rotary_dim % 2 == 0 && args.rotary_dim <= args.pool.dim);
  assert(args.rotary_dim <= 1024);
  const std::int64_t in = args.heads + 2 * std::int64_t{args.pool.kv_heads};
  Contract contract;
  contract.waits = contract.triggers = contract.triggers_first = true;
  contract.accesses = {read_activation(args.qkv, elements(args.batch.bucket, in, args.pool.dim), args.dtype),
                       write_activation(args.q, elements(args.batch.bucket, args.heads, args.pool.dim), args.dtype)};
  touch_batch(contract, args.batch, true);
  touch_scales(contract, args.k_scale, args.v_scale);
  contract.accesses.push_back(append_to_pool(args.pool));
  if (args.rest_is_done) read_before_wait(contract, args.qkv);
  return contract;
}

}  // namespace

const Op<RopeAppendArgs> rope_append = {.name = "rope_append",
                                        .contract = rope_append_contract,
                                        .host = rope_append_host,
                                        .launch = rope_append_launch,
                                        .launch_early = rope_append_launch_early};

}  // namespace refrain
