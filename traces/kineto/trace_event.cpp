#include "traces/kineto/trace_event.hpp"

#include <array>

namespace refrain {
namespace {

struct Category {
  std::string_view name;
  EventKind kind;
};

constexpr std::array kCategories = {
    Category{"cuda_runtime", EventKind::call},    Category{"cuda_driver", EventKind::call},
    Category{"hip_runtime", EventKind::call},     Category{"Runtime", EventKind::call},
    Category{"kernel", EventKind::kernel},        Category{"Kernel", EventKind::kernel},
    Category{"gpu_memcpy", EventKind::copy},      Category{"Memcpy", EventKind::copy},
    Category{"gpu_memset", EventKind::fill},      Category{"Memset", EventKind::fill},
    Category{"cuda_sync", EventKind::sync},       Category{"user_annotation", EventKind::range},
    Category{"UserAnnotation", EventKind::range},
};

MemorySpace space_of(std::string_view word) noexcept {
  if (word == "Pageable") return MemorySpace::pageable;
  if (word == "Pinned") return MemorySpace::pinned;
  if (word == "Device" || word == "Array") return MemorySpace::device;
  if (word == "Managed") return MemorySpace::managed;
  return MemorySpace::unknown;  // HIP says `Host`, which may be either
}

}  // namespace

EventKind kind_of(const TraceEvent& event) noexcept {
  if (event.phase != "X") return EventKind::other;
  for (const Category& category : kCategories)
    if (event.category == category.name) return category.kind;
  // In 2021 ranges of users stood among the operators.
  if (event.category == "Operator" && event.name.starts_with("ProfilerStep#")) return EventKind::range;
  return EventKind::other;
}

void read_copy_name(std::string_view name, WorkEvent& copy) noexcept {
  const auto has = [&](const char* word) { return name.find(word) != std::string_view::npos; };
  copy.direction = has("HtoD")   ? CopyDirection::h2d
                   : has("DtoH") ? CopyDirection::d2h
                   : has("DtoD") ? CopyDirection::d2d
                   : has("HtoH") ? CopyDirection::h2h
                                 : CopyDirection::other;
  const std::size_t open = name.find('('), arrow = name.find(" -> "), close = name.rfind(')');
  if (open == std::string_view::npos || arrow == std::string_view::npos || close == std::string_view::npos) return;
  if (arrow <= open || close <= arrow + 4) return;
  copy.source_space = space_of(name.substr(open + 1, arrow - open - 1));
  copy.space = space_of(name.substr(arrow + 4, close - arrow - 4));
}

}  // namespace refrain
