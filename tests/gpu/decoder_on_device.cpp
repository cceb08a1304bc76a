#include "tests/gpu/decoder_on_device.hpp"

#include "graphs/error.hpp"
#include "tests/catch.hpp"

namespace refrain::test {
namespace {

/// Makes each of the pointers one into the copy.
template <class... Pointers>
void move(const DeviceCopy& copy, Pointers&... pointers) {
  ((pointers = copy.at(pointers)), ...);
}

}  // namespace

bool make_gemm_plans(std::optional<GemmPlans>& plans, std::int64_t workspace_bytes) {
  try {
    plans.emplace(workspace_bytes);
  } catch (const Error& error) {
    WARN("gemm is not tested: " << error.what());
    return false;
  }
  return true;
}

EmbedArgs on_device(const DeviceCopy& copy, EmbedArgs args) {
  move(copy, args.ids, args.rows, args.table, args.out);
  return args;
}

RmsNormArgs on_device(const DeviceCopy& copy, RmsNormArgs args) {
  move(copy, args.x, args.weight, args.rows, args.residual, args.out);
  return args;
}

SiluMulArgs on_device(const DeviceCopy& copy, SiluMulArgs args) {
  move(copy, args.gate_up, args.rows, args.out);
  return args;
}

RopeAppendArgs on_device(const DeviceCopy& copy, RopeAppendArgs args) {
  args.pool = on_device(copy, args.pool);
  args.batch = on_device(copy, args.batch);
  move(copy, args.qkv, args.k_scale, args.v_scale, args.q);
  return args;
}

ArgmaxArgs on_device(const DeviceCopy& copy, ArgmaxArgs args) {
  move(copy, args.logits, args.rows, args.tokens);
  return args;
}

SampleArgs on_device(const DeviceCopy& copy, SampleArgs args) {
  move(copy, args.logits, args.rows, args.temperature, args.top_k, args.top_p, args.seeds, args.wanted, args.tokens);
  return args;
}

void require_no_stray(const Contract& contract, const Memory& memory, const Memory::Photo& got,
                      const Memory::Photo& given) {
  std::size_t stray = 0;
  for (std::size_t block = 0; block < given.size(); ++block)
    for (std::size_t i = 0; i < given[block].size(); ++i)
      stray += got[block][i] != given[block][i] && !may_change(contract, memory.address(block, i));
  REQUIRE(stray == 0);
}

}  // namespace refrain::test
