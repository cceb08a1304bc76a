// The algorithms that cuBLASLt's heuristics choose, one a shape, asked once and
// kept; none and no workspace for few rows, which have a kernel of ours. The caller
// owns the object, and with it cuBLASLt's handle; the library is half a gigabyte, so it
// is loaded when the object is made and never linked. Nothing here may be called during
// a capture: making a handle allocates.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/gemm.hpp"

namespace refrain {

inline constexpr const char* kCublasLtLibrary = "libcublasLt.so.13";

class GemmPlans {
 public:
  /// On the current device, with workspaces up to so many bytes. Throws Error, naming what to install, where the
  /// library is not found, and where this build has no CUDA parts.
  explicit GemmPlans(std::int64_t workspace_bytes, const char* library = kCublasLtLibrary);
  ~GemmPlans();
  GemmPlans(const GemmPlans&) = delete;
  GemmPlans& operator=(const GemmPlans&) = delete;

  /// The plan of these Args' shape and dtypes; of the pointers it matters only whether there is a bias. Lives as long
  /// as this object. Throws Error where cuBLASLt has no algorithm.
  const GemmPlan* plan(const GemmArgs& args);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::int64_t gemm_workspace_bytes(const GemmPlan& plan) noexcept;

}  // namespace refrain
