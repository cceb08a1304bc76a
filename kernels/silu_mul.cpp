#include "kernels/silu_mul.hpp"

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

Contract silu_mul_contract(const SiluMulArgs& args) {
  assert_half(args.dtype);
  assert(args.bucket > 0 && args.width > 0);
  const auto all = elements(args.bucket, args.width);
  Contract contract;
  contract.waits = contract.triggers = contract.triggers_first = true;
  contract.accesses = {read_activation(args.gate_up, 2 * all, args.dtype), read_input(args.rows, 1, Dtype::i32),
                       write_activation(args.out, all, args.dtype)};
  if (args.rest_is_done) read_before_wait(contract, args.gate_up);
  return contract;
}

}  // namespace

const Op<SiluMulArgs> silu_mul = {.name = "silu_mul",
                                  .contract = silu_mul_contract,
                                  .host = silu_mul_host,
                                  .launch = silu_mul_launch,
                                  .launch_early = silu_mul_launch_early};

}  // namespace refrain
