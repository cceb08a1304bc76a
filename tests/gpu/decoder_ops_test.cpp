// The decoder's ops on the device: the host tests' cases with the kernel in the
// twin's place, and the same oracles.
#include "tests/catch.hpp"
#include "tests/gpu/decoder_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// An op whose kernel takes its twin's place.
template <class Args>
RunOp<Args> kernel_of(const Op<Args>& op) {
  return [&op](const Args& args, Memory& memory) { run_device(op, args, memory); };
}

/// The same, and with all but the activations read before the wait.
template <class Args>
RunOp<Args> kernel_of_both_waits(const Op<Args>& op) {
  return [&op](const Args& args, Memory& memory) {
    const Memory::Photo given = memory.photo();
    Args sooner = args;
    sooner.rest_is_done = true;
    run_device(op, sooner, memory);
    const Memory::Photo got = memory.photo();
    memory.restore(given);
    run_device(op, args, memory);
    require_same(got, memory.photo());
  };
}

}  // namespace

TEST_CASE("embed on the device: every row is its token's or zeros and every byte of it is written") {
  embed_cases(kernel_of(embed));
}

TEST_CASE("rms_norm on the device: every row agrees with fp64 and pad rows and their residuals become zeros") {
  rms_norm_cases(kernel_of_both_waits(rms_norm));
}

TEST_CASE("silu_mul on the device: every element agrees with fp64 and pad rows are zeros") {
  silu_mul_cases(kernel_of_both_waits(silu_mul));
}

TEST_CASE("rope_append on the device: q and k turn within the stated error and k and v land as kv_append's") {
  rope_append_cases(kernel_of_both_waits(rope_append));
}

TEST_CASE("rope_append on the device: a row without a page or a token or a request appends nothing") {
  rope_append_bad_rows(kernel_of_both_waits(rope_append));
}

TEST_CASE("argmax on the device: the lowest id of the largest and -1 for rows that cannot be judged and for pad rows") {
  argmax_cases(kernel_of(argmax));
}

TEST_CASE("sample on the device: every draw fits the fp64 sums of what temperature and top-k and top-p leave") {
  sample_cases(kernel_of(sample));
}

TEST_CASE("sample on the device: draws are distributed as the kept weights") {
  sample_draws(kernel_of(sample));
}

TEST_CASE("convert on the device: all 65,536 codes of both formats convert as on the host and so do odd counts") {
  for (const Dtype from : {Dtype::fp16, Dtype::bf16})
    for (const std::int64_t count : {65'536, 65'529, 1}) {
      Memory memory;
      auto* codes = memory.take<std::uint16_t>(count);
      for (std::int64_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint16_t>(i);
      const Dtype to = from == Dtype::fp16 ? Dtype::bf16 : Dtype::fp16;
      require_as_twin(
          convert,
          {.from = codes, .from_dtype = from, .to_dtype = to, .count = count, .to = memory.take<std::uint16_t>(count)},
          memory);
    }
}
