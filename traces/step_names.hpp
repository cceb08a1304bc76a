// Which range of a trace is a serving step, by its name: PyTorch's
// `ProfilerStep#7`, and a range that numbers a step or an iteration, such as
// `decode_step_3`, `Step 12` or `_forward_step 40: 8 requests`. Ranges that only
// speak of steps (`Optimizer.step#SGD.step`) and a profiler's own are none.
#pragma once

#include <string>
#include <string_view>

namespace refrain {

[[nodiscard]] bool is_profiler_step(std::string_view range) noexcept;
/// A step by number, profiler steps among them.
[[nodiscard]] bool is_step_name(std::string_view range) noexcept;
/// What steps of one kind are called: without the number of the step, and with `#` for any number behind it. A name
/// that numbers no step stays as it is: `ProfilerStep`, `decode_step`, `_forward_step: # requests`, `decode bucket 8`.
[[nodiscard]] std::string step_kind(std::string_view range);

}  // namespace refrain
