#include "kernels/mla_append.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

Contract mla_append_contract(const MlaAppendArgs& args) {
  const MlaPoolView& pool = args.pool;
  assert(pool.pages > 0 && pool.page_size > 0 && args.batch.bucket > 0);
  Contract contract;
  contract.accesses.push_back(read_input(args.latent, elements(args.batch.bucket, pool.dim()), Dtype::bf16));
  touch_batch(contract, args.batch, true);
  // Pages [1, pages): the null block is outside the range, not merely unlikely.
  contract.accesses.push_back({.base = reinterpret_cast<Address>(pool.data),
                               .range = {static_cast<std::uint64_t>(pool.page_bytes()), pool.bytes()},
                               .mode = Mode::write,
                               .reach = Reach::may,
                               .role = Role::kv_pool,
                               .dtype = pool.record == MlaRecord::bf16 ? Dtype::bf16 : Dtype::e4m3,
                               .tokens = CacheTokens::appended});
  return contract;
}

}  // namespace

const Op<MlaAppendArgs> mla_append = {
    .name = "mla_append", .contract = mla_append_contract, .host = mla_append_host, .launch = mla_append_launch};

}  // namespace refrain
