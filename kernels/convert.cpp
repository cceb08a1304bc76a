#include "kernels/convert.hpp"

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

Contract convert_contract(const ConvertArgs& args) {
  assert_half(args.from_dtype);
  assert_half(args.to_dtype);
  assert(args.count > 0);
  Contract contract;
  contract.accesses = {read_activation(args.from, elements(args.count), args.from_dtype),
                       write_activation(args.to, elements(args.count), args.to_dtype)};
  return contract;
}

}  // namespace

const Op<ConvertArgs> convert = {
    .name = "convert", .contract = convert_contract, .host = convert_host, .launch = convert_launch};

}  // namespace refrain
