// What the auditor must know of a call of the API beyond its name: whether it has a
// stream, gives memory out or back, and what a copy is once both ends are known.
#pragma once

#include "traces/api_names.hpp"
#include "traces/timeline.hpp"

namespace refrain {

[[nodiscard]] bool has_stream(Api api) noexcept;
/// cudaMalloc and its kin, those that give an address.
[[nodiscard]] bool gives_memory(Api api) noexcept;
/// cudaFree and its kin.
[[nodiscard]] bool takes_memory(Api api) noexcept;
[[nodiscard]] bool is_copy(const ApiName& name) noexcept;

/// Both ends known; memory that no driver knows is pageable.
[[nodiscard]] Api copy_between(const ApiName& name, MemorySpace source, MemorySpace destination) noexcept;

}  // namespace refrain
