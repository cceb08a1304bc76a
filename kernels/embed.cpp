#include "kernels/embed.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

Contract embed_contract(const EmbedArgs& args) {
  assert_half(args.dtype);
  assert(args.bucket > 0 && args.vocab > 0 && args.width > 0);
  const auto table = elements(args.vocab, args.width);
  Contract contract;
  contract.accesses = {read_activation(args.ids, elements(args.bucket), Dtype::i32),
                       read_input(args.rows, 1, Dtype::i32), read_weights(args.table, table, args.dtype, Reach::may),
                       write_activation(args.out, elements(args.bucket, args.width), args.dtype)};
  return contract;
}

}  // namespace

const Op<EmbedArgs> embed = {.name = "embed", .contract = embed_contract, .host = embed_host, .launch = embed_launch};

}  // namespace refrain
