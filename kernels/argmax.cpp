#include "kernels/argmax.hpp"

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

Contract argmax_contract(const ArgmaxArgs& args) {
  assert_logits(args.dtype);
  assert(args.bucket > 0 && args.vocab > 0 && args.vocab <= 1 << 30);
  Contract contract;
  contract.accesses = {read_activation(args.logits, elements(args.bucket, args.vocab), args.dtype),
                       read_input(args.rows, 1, Dtype::i32),
                       touch(args.tokens, elements(args.bucket), Mode::write, Role::output, Dtype::i32)};
  return contract;
}

}  // namespace

const Op<ArgmaxArgs> argmax = {
    .name = "argmax", .contract = argmax_contract, .host = argmax_host, .launch = argmax_launch};

}  // namespace refrain
