// What the CUDA driver needs of device code: two empty kernels and a variable,
// as the addresses by which the runtime's calls know them. No kernel that does
// work belongs here.
#pragma once

namespace refrain {

/// Launched for an op without a function of its own, and asked about by cudaFuncGetAttributes and its like.
[[nodiscard]] const void* probe_kernel() noexcept;
/// A second one that nothing else touches, so that its first launch is also its loading.
[[nodiscard]] const void* probe_first_use_kernel() noexcept;
/// A `__device__` variable of 8 bytes.
[[nodiscard]] const void* probe_symbol() noexcept;

}  // namespace refrain
