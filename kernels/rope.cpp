#include "kernels/rope.hpp"

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

Access rotate(const void* data, std::uint64_t count, Dtype dtype) {
  return touch(static_cast<const std::byte*>(data), count, Mode::read_write, Role::unknown, dtype, Reach::may);
}

Contract rope_contract(const RopeArgs& args) {
  assert_half(args.dtype);
  assert(args.bucket > 0 && args.heads > 0 && args.kv_heads > 0 && args.theta > 0);
  assert(args.rotary_dim > 0 && args.rotary_dim % 2 == 0 && args.rotary_dim <= args.dim && args.rotary_dim <= 1024);
  const auto bucket = elements(args.bucket);
  Contract contract;
  contract.waits = contract.triggers = true;
  contract.accesses = {rotate(args.q, bucket * elements(args.heads, args.dim), args.dtype),
                       rotate(args.k, bucket * elements(args.kv_heads, args.dim), args.dtype),
                       read_input(args.query_pos, bucket, Dtype::i64), read_input(args.rows, 1, Dtype::i32)};
  return contract;
}

}  // namespace

const Op<RopeArgs> rope = {.name = "rope",
                           .contract = rope_contract,
                           .host = rope_host,
                           .launch = rope_launch,
                           .launch_early = rope_launch_early};

}  // namespace refrain
