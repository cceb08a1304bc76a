#include "kernels/gemm.hpp"

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/thin_gemm.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

Contract gemm_contract(const GemmArgs& args) {
  assert_half(args.dtype);
  assert(args.out_dtype == args.dtype || args.out_dtype == Dtype::fp32);
  assert(args.bucket > 0 && args.n > 0 && args.k > 0 && args.workspace_bytes >= 0);
  Contract contract;
  contract.waits = contract.triggers = is_thin(args);
  contract.accesses = {read_activation(args.a, elements(args.bucket, args.k), args.dtype),
                       read_weights(args.w, elements(args.n, args.k), args.dtype),
                       write_activation(args.out, elements(args.bucket, args.n), args.out_dtype)};
  contract.accesses[1].before_wait = contract.waits;
  if (args.bias != nullptr) contract.accesses.push_back(read_weights(args.bias, elements(args.n), args.out_dtype));
  if (args.workspace_bytes > 0)
    contract.accesses.push_back(touch(static_cast<const std::byte*>(args.workspace), elements(args.workspace_bytes),
                                      Mode::write, Role::workspace, Dtype::u8, Reach::may));
  return contract;
}

}  // namespace

const Op<GemmArgs> gemm = {.name = "gemm",
                           .contract = gemm_contract,
                           .host = gemm_host,
                           .launch = gemm_launch,
                           .launch_early = gemm_launch_early};

}  // namespace refrain
