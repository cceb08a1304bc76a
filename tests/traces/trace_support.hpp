// What the tests of foreign traces share: counts of what a timeline holds, and the
// place of other people's traces, which are not part of this tree.
#pragma once

#include <functional>
#include <string>

#include "traces/recording.hpp"

namespace refrain::test {

[[nodiscard]] std::size_t calls_of(const Timeline& timeline, Api api);
[[nodiscard]] std::size_t calls_where(const Timeline& timeline, const std::function<bool(const ApiEvent&)>& is);
[[nodiscard]] std::size_t work_where(const Timeline& timeline, const std::function<bool(const WorkEvent&)>& is);
/// The steps, in order.
[[nodiscard]] std::vector<const RangeEvent*> steps_in(const Timeline& timeline);
/// The calls of the range's thread inside it.
[[nodiscard]] std::vector<const ApiEvent*> calls_in(const Timeline& timeline, const RangeEvent& range);
/// Device work that the call handed out.
[[nodiscard]] std::size_t work_of(const Timeline& timeline, const ApiEvent& call);
[[nodiscard]] bool has_limit(const Timeline& timeline, std::string_view name);

/// The path of a public trace below $REFRAIN_PUBLIC_DATA or ../shared/data; empty, and said aloud, where it is missing.
[[nodiscard]] std::string public_trace(const std::string& name);
/// A trace of traces/samples.
[[nodiscard]] std::string sample(const std::string& name);
/// What load_recording's Error says; empty when it loads.
[[nodiscard]] std::string load_error(const std::string& path);

}  // namespace refrain::test
