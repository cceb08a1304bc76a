// Everything but the arithmetic: few rows have a kernel of their own (thin_gemm.cu), for
// the others cuBLASLt runs the algorithm that the plan names.
// Floor: the larger of 2 * bucket * n * k operations over the tensor cores' rate and
// (n * k + bucket * (n + k)) * 2 bytes over the memory's bandwidth. A decode step's
// few rows are all weights: there the bandwidth is the limit, from some hundreds of
// rows on the tensor cores are.
#include <cassert>
#include <cstdint>

#include "kernels/cublas_lt.cuh"
#include "kernels/gemm.hpp"
#include "kernels/launchers.hpp"
#include "kernels/thin_gemm.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

/// Launched with a grid of no blocks, so that the last error says that nothing was enqueued.
__global__ void refused_kernel() {}

bool aligned(const void* pointer, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

}  // namespace

void gemm_launch(const GemmArgs& args, void* stream) {
  assert(args.plan != nullptr && args.plan->fits(args));
  assert(static_cast<std::uint64_t>(args.workspace_bytes) >= args.plan->workspace_bytes);
  assert(aligned(args.a, 16) && aligned(args.w, 16) && aligned(args.bias, 16) && aligned(args.out, 16));
  assert(aligned(args.workspace, 256));
  if (is_thin(args)) return thin_gemm_launch(args, stream, false);
  const GemmPlan& plan = *args.plan;
  const auto on = static_cast<cudaStream_t>(stream);
  const float one = 1, zero = 0;
  LtStatus status;
  LtProblem problem(*plan.lt, args, status);
  status(plan.lt->matmul, plan.handle, &problem.desc, &one, args.w, &problem.w, args.a, &problem.a, &zero, args.out,
         &problem.out, args.out, &problem.out, &plan.algo, args.workspace, plan.workspace_bytes, on);
  if (status.code != CUBLAS_STATUS_SUCCESS && cudaPeekAtLastError() == cudaSuccess) refused_kernel<<<0, 1, 0, on>>>();
}

void gemm_launch_early(const GemmArgs& args, void* stream) {
  thin_gemm_launch(args, stream, true);
}

}  // namespace refrain
