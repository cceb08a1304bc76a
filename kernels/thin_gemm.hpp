// The kernel of gemm for few rows, and which shapes are its own: from the shape alone,
// so that a graph that has it in its key has the kernel in it too.
#pragma once

#include "kernels/gemm.hpp"

namespace refrain {

inline constexpr std::int32_t kThinRows = 16;   ///< the most
inline constexpr std::int32_t kThinStep = 128;  ///< k is a multiple of it

[[nodiscard]] inline bool is_thin(const GemmArgs& args) noexcept {
  return args.bucket <= kThinRows && args.k % kThinStep == 0;
}

/// Needs is_thin(args); no plan and no workspace.
void thin_gemm_launch(const GemmArgs& args, void* stream, bool early);

}  // namespace refrain
