// What the auditor tells of its own process: its command line, its thread numbers,
// and whether it is a PyTorch process. All of it is read and none is kept.
#pragma once

#include <cstdint>
#include <string>

namespace refrain {

[[nodiscard]] std::string command_line();
[[nodiscard]] std::uint64_t thread_number() noexcept;
[[nodiscard]] std::uint64_t now_ns() noexcept;
/// A library whose file name begins so is loaded.
[[nodiscard]] bool has_library(const char* name);
/// Kernels load when they are first launched, and not with their module.
[[nodiscard]] bool loads_kernels_lazily();

}  // namespace refrain
