// What kind of call an API is: the words that steps, their figures and the audit's
// rules share. Whether a call waits is graphs/capture_rules' is_sync. By the call
// alone: it knows no device record.
#pragma once

#include "traces/timeline.hpp"

namespace refrain {

[[nodiscard]] bool is_launch(Api api) noexcept;  ///< kernels, first-use ones too, and host functions
/// cudaMemcpy, cudaMemcpyToSymbol, cudaMemset: the synchronous forms.
[[nodiscard]] bool is_blocking_copy(Api api) noexcept;
[[nodiscard]] bool is_query(Api api) noexcept;  ///< cudaStreamQuery, cudaEventQuery
/// The call hands work to the device: launches, graph launches, copies, fills.
[[nodiscard]] bool submits_work(Api api) noexcept;
/// The call did device work when it was made: it came back 0 and was not captured into a graph.
[[nodiscard]] bool ran_at_once(const ApiEvent& call) noexcept;

}  // namespace refrain
