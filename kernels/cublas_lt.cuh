// cuBLASLt as it is found at run time: its entry points by name, and what a launch
// describes to it. Descriptors are made on the stack, at planning and at every
// launch, so a plan is never written to after it was made.
#pragma once

#include <cublasLt.h>

#include "kernels/gemm.hpp"

namespace refrain {

static_assert(CUBLAS_VER_MAJOR == 13, "kCublasLtLibrary names the library of this header");

struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulDescInit_internal) desc_init;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutInit_internal) layout_init;
  decltype(&cublasLtMatmulPreferenceInit_internal) preference_init;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
};

/// The calls so far, until one fails: later ones are not made.
struct LtStatus {
  cublasStatus_t code = CUBLAS_STATUS_SUCCESS;

  template <class Call, class... Args>
  void operator()(Call call, Args... args) {
    if (code == CUBLAS_STATUS_SUCCESS) code = call(args...);
  }
};

/// What a GEMM is to cuBLASLt, which counts columns first: out^T [n, bucket] = w [n, k] * a^T [k, bucket].
struct LtProblem {
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatrixLayoutOpaque_t w, a, out;

  LtProblem(const CublasLt& lt, const GemmArgs& args, LtStatus& status) {
    const auto n = static_cast<std::uint64_t>(args.n), k = static_cast<std::uint64_t>(args.k);
    const auto bucket = static_cast<std::uint64_t>(args.bucket);
    status(lt.desc_init, &desc, sizeof desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    set(lt, status, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (args.bias != nullptr) {
      set(lt, status, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(lt, status, CUBLASLT_MATMUL_DESC_BIAS_POINTER, args.bias);
      set(lt, status, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(args.out_dtype));
    }
    status(lt.layout_init, &w, sizeof w, type_of(args.dtype), k, n, args.k);
    status(lt.layout_init, &a, sizeof a, type_of(args.dtype), k, bucket, args.k);
    status(lt.layout_init, &out, sizeof out, type_of(args.out_dtype), n, bucket, args.n);
  }

 private:
  [[nodiscard]] static cudaDataType_t type_of(Dtype dtype) {
    return dtype == Dtype::fp16 ? CUDA_R_16F : dtype == Dtype::bf16 ? CUDA_R_16BF : CUDA_R_32F;
  }

  template <class Value>
  void set(const CublasLt& lt, LtStatus& status, cublasLtMatmulDescAttributes_t attribute, Value value) {
    status(lt.desc_set, &desc, attribute, &value, sizeof value);
  }
};

struct GemmPlan {
  const CublasLt* lt;
  cublasLtHandle_t handle;
  std::int32_t bucket, n, k;
  Dtype dtype, out_dtype;
  bool with_bias;
  cublasLtMatmulAlgo_t algo = {};
  std::size_t workspace_bytes = 0;

  [[nodiscard]] bool fits(const GemmArgs& args) const {
    return bucket == args.bucket && n == args.n && k == args.k && dtype == args.dtype && out_dtype == args.out_dtype &&
           with_bias == (args.bias != nullptr);
  }
};

}  // namespace refrain
