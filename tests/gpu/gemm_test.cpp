// gemm on the device: the host tests' cases through cuBLASLt. Where the library is
// not installed there is nothing to test, and the tests say so.
#include "kernels/gemm.hpp"

#include <cuda_runtime_api.h>

#include <optional>

#include "kernels/gemm_plans.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/decoder_on_device.hpp"

namespace refrain::test {

/// A GEMM whose plan and workspace are the device's own and not in the test's memory. The workspace begins as NaN and
/// goes on as what the runs before left in it.
struct PlannedGemm {
  GemmArgs args;
  const GemmPlan* plan;
  void* workspace;
};

static PlannedGemm on_device(const DeviceCopy& copy, PlannedGemm planned) {
  GemmArgs& args = planned.args;
  args.a = copy.at(args.a);
  args.w = copy.at(args.w);
  args.bias = copy.at(args.bias);
  args.out = copy.at(args.out);
  args.plan = planned.plan;
  args.workspace = planned.workspace;
  args.workspace_bytes = gemm_workspace_bytes(*planned.plan);
  return planned;
}

}  // namespace refrain::test

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::int64_t kWorkspace = 32 << 20;

const Op<PlannedGemm> planned_gemm = {
    .name = "gemm",
    .contract = [](const PlannedGemm& planned) { return gemm.contract(planned.args); },
    .host = [](const PlannedGemm& planned) { gemm.host(planned.args); },
    .launch = [](const PlannedGemm& planned, void* stream) { gemm.launch(planned.args, stream); }};

class Workspace {
 public:
  Workspace() {
    require_success(cudaMalloc(&data_, kWorkspace), "cudaMalloc");
    require_success(cudaMemset(data_, 0xFF, kWorkspace), "cudaMemset");
  }
  ~Workspace() { cudaFree(data_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

void run_cases(GemmRows rows) {
  std::optional<GemmPlans> plans;
  if (!make_gemm_plans(plans, kWorkspace)) return;
  const Workspace workspace;
  gemm_cases(
      [&](const GemmArgs& args, Memory& memory) {
        run_device(planned_gemm, PlannedGemm{args, plans->plan(args), workspace.data()}, memory);
      },
      rows);
}

}  // namespace

TEST_CASE("gemm on the device: every output agrees with fp64 and NaN in pad rows changes no bit of a real row") {
  run_cases(GemmRows::any);
}

TEST_CASE("gemm on the device: few rows agree with fp64 and NaN in pad rows changes no bit of a real row") {
  run_cases(GemmRows::few);
}

TEST_CASE("gemm on the device: a shape is planned once and keeps to the workspace that it was given") {
  std::optional<GemmPlans> plans;
  if (!make_gemm_plans(plans, kWorkspace)) return;
  alignas(16) const std::uint16_t bias[8] = {};
  GemmArgs args{.bucket = 32, .n = 256, .k = 8192};
  const GemmPlan* plan = plans->plan(args);
  CHECK(plans->plan(args) == plan);
  CHECK(gemm_workspace_bytes(*plan) <= kWorkspace);
  args.bias = bias;
  CHECK(plans->plan(args) != plan);
  args.bias = nullptr;
  args.bucket = 64;
  CHECK(plans->plan(args) != plan);
  args.bucket = 32;
  CHECK(plans->plan(args) == plan);
  GemmPlans none(0);
  CHECK(gemm_workspace_bytes(*none.plan(args)) == 0);
  args.bucket = 16;  // a kernel of ours
  CHECK(gemm_workspace_bytes(*plans->plan(args)) == 0);
}
