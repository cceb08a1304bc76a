#include "kernels/sample.hpp"

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

Contract sample_contract(const SampleArgs& args) {
  assert_logits(args.dtype);
  assert(args.bucket > 0 && args.vocab > 0 && args.vocab <= 1 << 23);
  const auto bucket = elements(args.bucket);
  Contract contract;
  contract.accesses = {read_activation(args.logits, bucket * elements(args.vocab), args.dtype),
                       read_input(args.rows, 1, Dtype::i32),
                       read_input(args.temperature, bucket, Dtype::fp32),
                       read_input(args.top_k, bucket, Dtype::i32),
                       read_input(args.top_p, bucket, Dtype::fp32),
                       read_input(args.seeds, 2 * bucket, Dtype::i64),
                       touch(args.tokens, bucket, Mode::write, Role::output, Dtype::i32)};
  if (args.wanted != nullptr) contract.accesses.push_back(read_input(args.wanted, bucket, Dtype::i32));
  return contract;
}

}  // namespace

const Op<SampleArgs> sample = {
    .name = "sample", .contract = sample_contract, .host = sample_host, .launch = sample_launch};

}  // namespace refrain
