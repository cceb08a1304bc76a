#include "tests/traces/trace_support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "traces/readers.hpp"

namespace refrain::test {

std::size_t calls_where(const Timeline& timeline, const std::function<bool(const ApiEvent&)>& is) {
  return static_cast<std::size_t>(std::count_if(timeline.calls.begin(), timeline.calls.end(), is));
}

std::size_t calls_of(const Timeline& timeline, Api api) {
  return calls_where(timeline, [&](const ApiEvent& call) { return call.api == api; });
}

std::size_t work_where(const Timeline& timeline, const std::function<bool(const WorkEvent&)>& is) {
  return static_cast<std::size_t>(std::count_if(timeline.work.begin(), timeline.work.end(), is));
}

std::vector<const RangeEvent*> steps_in(const Timeline& timeline) {
  std::vector<const RangeEvent*> steps;
  for (const RangeEvent& range : timeline.ranges)
    if (range.step) steps.push_back(&range);
  return steps;
}

std::vector<const ApiEvent*> calls_in(const Timeline& timeline, const RangeEvent& range) {
  std::vector<const ApiEvent*> calls;
  for (const ApiEvent& call : timeline.calls)
    if (call.thread == range.thread && range.first < call.sequence && call.sequence < range.last)
      calls.push_back(&call);
  return calls;
}

std::size_t work_of(const Timeline& timeline, const ApiEvent& call) {
  return work_where(timeline, [&](const WorkEvent& work) { return work.call == call.sequence; });
}

bool has_limit(const Timeline& timeline, std::string_view name) {
  return std::any_of(timeline.limits.begin(), timeline.limits.end(),
                     [&](const EvidenceLimit& limit) { return limit.name == name; });
}

std::string public_trace(const std::string& name) {
  const char* folder = std::getenv("REFRAIN_PUBLIC_DATA");
  const std::string path = folder != nullptr ? fmt::format("{}/{}", folder, name)
                                             : fmt::format("{}/../shared/data/{}", REFRAIN_SOURCE_DIR, name);
  if (std::filesystem::exists(path)) return path;
  WARN("skipped: no " << path << "; set REFRAIN_PUBLIC_DATA to the folder of public traces");
  return {};
}

std::string sample(const std::string& name) {
  return fmt::format("{}/traces/samples/{}", REFRAIN_SOURCE_DIR, name);
}

std::string load_error(const std::string& path) {
  try {
    (void)load_recording(path);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return {};
}

}  // namespace refrain::test
