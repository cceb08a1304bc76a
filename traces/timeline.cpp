#include "traces/timeline.hpp"

namespace refrain {

static_assert(sizeof(ApiEvent) <= 100, "a recording of millions of calls must fit in memory");
static_assert(sizeof(WorkEvent) <= 100 && sizeof(GraphNodeEvent) <= 100, "so must a trace of millions of kernels");

Interner::Interner(Timeline& timeline) : timeline_(timeline) {
  for (StringId id = 0; id < timeline_.strings.size(); ++id) ids_.emplace(timeline_.strings[id], id);
}

StringId Interner::id(std::string_view text) {
  if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
  const auto fresh = static_cast<StringId>(timeline_.strings.size());
  ids_.emplace(text, fresh);
  timeline_.strings.emplace_back(text);
  return fresh;
}

}  // namespace refrain
