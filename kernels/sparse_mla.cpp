#include "kernels/sparse_mla.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

void assert_shape([[maybe_unused]] const SparseMlaArgs& args) {
  assert(args.pool.pages > 0 && args.pool.page_size > 0 && args.pool.slots() <= INT32_MAX);
  assert(args.zeroed_bytes <= args.pool.bytes());
  assert(args.rows > 0 && args.heads > 0 && args.topk > 0);
  assert(args.chunk == 16 || args.chunk == 32 || args.chunk == 64);
}

/// Which records are read stands in the index list, so the whole pool may be. A scratch that a split fills is read
/// where the split has not written, too: there it must be zero.
void touch_pool(Contract& contract, const SparseMlaArgs& args) {
  const MlaPoolView& pool = args.pool;
  const Dtype dtype = pool.record == MlaRecord::bf16 ? Dtype::bf16 : Dtype::e4m3;
  const Role role = args.zeroed_bytes > 0 ? Role::scratch : Role::kv_pool;
  contract.accesses.push_back(touch(pool.data, pool.bytes() / dtype_bytes(dtype), Mode::read, role, dtype, Reach::may));
  if (args.zeroed_bytes > 0) contract.needs.push_back(claim(Fact::zeroed, pool.data, args.zeroed_bytes));
}

Contract read_contract(const SparseMlaArgs& args) {
  assert_shape(args);
  Contract contract;
  contract.accesses = {
      read_input(args.q, elements(args.rows, args.heads, args.pool.dim()), Dtype::bf16),
      read_input(args.indices, elements(args.rows, args.topk), Dtype::i32),
  };
  touch_pool(contract, args);
  if (args.lengths != nullptr) contract.accesses.push_back(read_input(args.lengths, elements(args.rows), Dtype::i32));
  if (args.real_rows != nullptr) contract.accesses.push_back(read_input(args.real_rows, 1, Dtype::i32));
  return contract;
}

Contract prefill_contract(const SparseMlaArgs& args) {
  Contract contract = read_contract(args);
  const auto heads = elements(args.rows, args.heads);
  if (args.sinks != nullptr)
    contract.accesses.push_back(touch(args.sinks, elements(args.heads), Mode::read, Role::weights, Dtype::fp32));
  contract.accesses.push_back(touch(static_cast<const std::byte*>(args.out), heads * elements(kMlaValueDim),
                                    Mode::write, Role::output, Dtype::bf16));
  contract.accesses.push_back(touch(args.lse, heads, Mode::write, Role::output, Dtype::fp32));
  if (args.max_logits != nullptr)
    contract.accesses.push_back(touch(args.max_logits, heads, Mode::write, Role::output, Dtype::fp32));
  return contract;
}

Contract decode_contract(const SparseMlaArgs& args) {
  assert(args.splits > 0 && args.split_entries > 0 && args.split_entries % args.chunk == 0);
  assert(std::int64_t{args.splits} * args.split_entries >= args.topk);
  Contract contract = read_contract(args);
  const auto splits = elements(args.rows, args.heads, args.splits);
  contract.accesses.push_back(
      touch(args.partials, splits * elements(kMlaValueDim), Mode::write, Role::workspace, Dtype::fp32, Reach::may));
  contract.accesses.push_back(touch(args.partial_lse, splits, Mode::write, Role::workspace, Dtype::fp32));
  if (args.partial_max != nullptr)
    contract.accesses.push_back(touch(args.partial_max, splits, Mode::write, Role::workspace, Dtype::fp32));
  return contract;
}

}  // namespace

const Op<SparseMlaArgs> sparse_mla_prefill = {.name = "sparse_mla_prefill",
                                              .contract = prefill_contract,
                                              .host = sparse_mla_prefill_host,
                                              .launch = sparse_mla_prefill_launch};

const Op<SparseMlaArgs> sparse_mla_decode = {.name = "sparse_mla_decode",
                                             .contract = decode_contract,
                                             .host = sparse_mla_decode_host,
                                             .launch = sparse_mla_decode_launch};

}  // namespace refrain
