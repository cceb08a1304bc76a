// The cases of the decoder's ops, each run by the host's tests with the twin and
// by the GPU's with the kernel: `run` leaves in memory what the op made of it, and
// the case judges that against fp64 arithmetic of its own. Everything that must
// not matter is 0xFF or plausible garbage.
#pragma once

#include <functional>

#include "kernels/argmax.hpp"
#include "kernels/embed.hpp"
#include "kernels/gemm.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope_append.hpp"
#include "kernels/sample.hpp"
#include "kernels/silu_mul.hpp"
#include "tests/kernels/memory.hpp"

namespace refrain::test {

template <class Args>
using RunOp = std::function<void(const Args&, Memory&)>;

/// Widths, dtypes, ids outside the vocabulary, counts of rows.
void embed_cases(const RunOp<EmbedArgs>& run);

/// With and without a residual, rows of different sizes, one of zeros.
void rms_norm_cases(const RunOp<RmsNormArgs>& run);

/// Gates from near 0 to where the exponential overflows.
void silu_mul_cases(const RunOp<SiluMulArgs>& run);

/// Positions from -3 to 2^20, rotary parts of several widths, every dtype of a pool; plain numbers and any bits.
void rope_append_cases(const RunOp<RopeAppendArgs>& run);
/// Bad pages, positions, requests and counts of rows.
void rope_append_bad_rows(const RunOp<RopeAppendArgs>& run);

/// Three dtypes; ties, NaN, infinities and zeros of both signs.
void argmax_cases(const RunOp<ArgmaxArgs>& run);

/// Temperatures from 0 to infinity, top-k and top-p of every kind, bad parameters, special rows.
void sample_cases(const RunOp<SampleArgs>& run);
/// Many draws of one row under fixed seeds, against the distribution by chi-square.
void sample_draws(const RunOp<SampleArgs>& run);

enum class GemmRows { any, few };  ///< few: shapes that have a kernel of their own on a GPU

/// Shapes with and without a bias, fp32 and sixteen-bit outputs, NaN in pad rows.
void gemm_cases(const RunOp<GemmArgs>& run, GemmRows rows);

}  // namespace refrain::test
