#include "kernels/rms_norm.hpp"

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

Contract rms_norm_contract(const RmsNormArgs& args) {
  assert_half(args.dtype);
  assert(args.bucket > 0 && args.width > 0 && args.eps >= 0);
  const auto all = elements(args.bucket, args.width);
  Contract contract;
  contract.waits = contract.triggers = contract.triggers_first = true;
  contract.accesses = {read_activation(args.x, all, args.dtype),
                       read_weights(args.weight, elements(args.width), args.dtype),
                       read_input(args.rows, 1, Dtype::i32), write_activation(args.out, all, args.dtype)};
  if (args.residual != nullptr) {
    if (args.rest_is_done) contract.accesses.push_back(read_activation(args.residual, all, args.dtype));
    contract.accesses.push_back(
        touch(static_cast<const std::byte*>(args.residual), all, Mode::read_write, Role::unknown, args.dtype));
  }
  if (args.rest_is_done) read_before_wait(contract, args.x);
  return contract;
}

}  // namespace

const Op<RmsNormArgs> rms_norm = {.name = "rms_norm",
                                  .contract = rms_norm_contract,
                                  .host = rms_norm_host,
                                  .launch = rms_norm_launch,
                                  .launch_early = rms_norm_launch_early};

}  // namespace refrain
