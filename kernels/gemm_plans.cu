// Split-K may add its partial sums only in fp32 and from the workspace: a scheme
// that adds them in the output's dtype would round in between.
#include "kernels/gemm_plans.hpp"

#include <dlfcn.h>

#include <string>
#include <vector>

#include "graphs/error.hpp"
#include "kernels/cublas_lt.cuh"
#include "kernels/thin_gemm.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr std::uint32_t kAlignment = 16;

/// Left loaded for good: kernels of the library may be in graphs that outlive whoever asked for them.
CublasLt load_cublas_lt(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    throw Error(ErrorKind::driver, std::string("loading ") + library,
                std::string(reason == nullptr ? "not found" : reason) +
                    "; install cuBLAS of CUDA 13 (the package libcublas-13-0, or nvidia-cublas from PyPI), or name its "
                    "folder in LD_LIBRARY_PATH",
                "gemm");
  }
  const auto find = [&]<class Entry>(Entry& entry, const char* name) {
    entry = reinterpret_cast<Entry>(dlsym(handle, name));
    if (entry == nullptr)
      throw Error(ErrorKind::driver, std::string("loading ") + library, std::string("it has no ") + name, "gemm");
  };
  CublasLt lt{};
  find(lt.create, "cublasLtCreate");
  find(lt.destroy, "cublasLtDestroy");
  find(lt.status_string, "cublasLtGetStatusString");
  find(lt.matmul, "cublasLtMatmul");
  find(lt.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(lt.desc_init, "cublasLtMatmulDescInit_internal");
  find(lt.desc_set, "cublasLtMatmulDescSetAttribute");
  find(lt.layout_init, "cublasLtMatrixLayoutInit_internal");
  find(lt.preference_init, "cublasLtMatmulPreferenceInit_internal");
  find(lt.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  return lt;
}

void require(const CublasLt& lt, const LtStatus& status, const std::string& tried) {
  if (status.code != CUBLAS_STATUS_SUCCESS)
    throw Error(ErrorKind::driver, tried, lt.status_string(status.code), "gemm", static_cast<int>(status.code));
}

std::string describe(const GemmArgs& args) {
  return "planning [" + std::to_string(args.bucket) + ", " + std::to_string(args.k) + "] x [" + std::to_string(args.n) +
         ", " + std::to_string(args.k) + "]^T of " + to_string(args.dtype) + " to " + to_string(args.out_dtype);
}

cublasLtMatmulPreferenceOpaque_t preference_of(const CublasLt& lt, std::uint64_t workspace_bytes, LtStatus& status) {
  cublasLtMatmulPreferenceOpaque_t preference;
  status(lt.preference_init, &preference, sizeof preference);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    status(lt.preference_set, &preference, attribute, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(attribute, kAlignment);
  return preference;
}

}  // namespace

struct GemmPlans::State {
  CublasLt lt;
  cublasLtHandle_t handle = nullptr;
  std::uint64_t workspace_bytes;
  std::vector<std::unique_ptr<GemmPlan>> plans;

  State(const CublasLt& loaded, std::int64_t bytes) : lt(loaded), workspace_bytes(static_cast<std::uint64_t>(bytes)) {
    LtStatus status;
    status(lt.create, &handle);
    require(lt, status, "cublasLtCreate");
  }
  ~State() { lt.destroy(handle); }
};

GemmPlans::GemmPlans(std::int64_t workspace_bytes, const char* library) {
  assert(workspace_bytes >= 0);
  state_ = std::make_unique<State>(load_cublas_lt(library), workspace_bytes);
}

GemmPlans::~GemmPlans() = default;

namespace {

void choose_algorithm(const GemmArgs& args, std::uint64_t workspace_bytes, GemmPlan& plan) {
  const CublasLt& lt = *plan.lt;
  LtStatus status;
  LtProblem problem(lt, args, status);
  auto preference = preference_of(lt, workspace_bytes, status);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  status(lt.heuristic, plan.handle, &problem.desc, &problem.w, &problem.a, &problem.out, &problem.out, &preference, 1,
         &best, &found);
  require(lt, status, describe(args));
  if (found == 0) throw Error(ErrorKind::driver, describe(args), "cuBLASLt has no algorithm for it", "gemm");
  plan.algo = best.algo;
  plan.workspace_bytes = best.workspaceSize;
}

}  // namespace

const GemmPlan* GemmPlans::plan(const GemmArgs& args) {
  assert_half(args.dtype);
  assert(args.out_dtype == args.dtype || args.out_dtype == Dtype::fp32);
  assert(args.bucket > 0 && args.n > 0 && args.k > 0);
  for (const auto& plan : state_->plans)
    if (plan->fits(args)) return plan.get();
  const CublasLt& lt = state_->lt;
  GemmPlan plan{.lt = &lt,
                .handle = state_->handle,
                .bucket = args.bucket,
                .n = args.n,
                .k = args.k,
                .dtype = args.dtype,
                .out_dtype = args.out_dtype,
                .with_bias = args.bias != nullptr};
  if (!is_thin(args)) choose_algorithm(args, state_->workspace_bytes, plan);
  return state_->plans.emplace_back(std::make_unique<GemmPlan>(plan)).get();
}

std::int64_t gemm_workspace_bytes(const GemmPlan& plan) noexcept {
  return static_cast<std::int64_t>(plan.workspace_bytes);
}

}  // namespace refrain
