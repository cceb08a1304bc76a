#include "traces/timeline.hpp"

namespace refrain {

static_assert(sizeof(ApiEvent) <= 100, "a recording of millions of calls must fit in memory");
static_assert(sizeof(WorkEvent) <= 100 && sizeof(GraphNodeEvent) <= 100, "so must a trace of millions of kernels");

Interner::Interner(Timeline& timeline) : timeline_(timeline) {
  for (StringId id = 0; id < timeline_.strings.size(); ++id) ids_.emplace(timeline_.strings[id], id);
}

StringId Interner::id(std::string_view text) {
  const auto [entry, fresh] = ids_.try_emplace(std::string(text), static_cast<StringId>(timeline_.strings.size()));
  if (fresh) timeline_.strings.push_back(entry->first);
  return entry->second;
}

}  // namespace refrain
