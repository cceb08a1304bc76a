// Whether the kernels that are built on the matrix instructions of warpgroups can run.
#pragma once

namespace refrain {

/// This device and this build have them (sm_90a).
[[nodiscard]] bool has_wgmma();

}  // namespace refrain
