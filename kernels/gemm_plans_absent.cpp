// GemmPlans in a build without CUDA: there is nothing to plan for, and it says so.
#include "graphs/error.hpp"
#include "kernels/gemm_plans.hpp"

namespace refrain {

struct GemmPlans::State {};

GemmPlans::GemmPlans(std::int64_t, const char* library) {
  throw Error(ErrorKind::refused, std::string("loading ") + library,
              "this build has no CUDA parts; configure with REFRAIN_CUDA=ON", "gemm");
}

GemmPlans::~GemmPlans() = default;

const GemmPlan* GemmPlans::plan(const GemmArgs&) {
  return nullptr;
}

std::int64_t gemm_workspace_bytes(const GemmPlan&) noexcept {
  return 0;
}

}  // namespace refrain
