#include "traces/step_rows.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace refrain {
namespace {

struct Rows {
  std::optional<std::uint64_t> bucket, real;
};

/// The number behind `word`, or before it.
std::optional<std::uint64_t> number_beside(std::string_view text, std::string_view word, bool before) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    std::size_t begin = at + word.size(), end = at;
    if (before) {
      while (end > 0 && text[end - 1] == ' ') --end;
      begin = end;
      while (begin > 0 && is_digit(text[begin - 1])) --begin;
    } else {
      while (begin < text.size() && (text[begin] == ' ' || text[begin] == '_' || text[begin] == '=')) ++begin;
      end = begin;
      while (end < text.size() && is_digit(text[end])) ++end;
    }
    if (begin == end || end - begin > 9) continue;
    std::uint64_t value = 0;
    for (std::size_t i = begin; i < end; ++i) value = value * 10 + static_cast<std::uint64_t>(text[i] - '0');
    return value;
  }
  return std::nullopt;
}

class Names {
 public:
  explicit Names(const Timeline& timeline) : timeline_(timeline) {}

  const Rows& of(StringId name) {
    const auto [at, fresh] = told_.try_emplace(name);
    if (fresh)
      at->second = {number_beside(timeline_.text(name), "bucket", false),
                    number_beside(timeline_.text(name), "rows", true)};
    return at->second;
  }
  void take(StepStats& step, StringId name) {
    const Rows& rows = of(name);
    if (!step.rows) step.rows = rows.bucket;
    if (!step.real_rows) step.real_rows = rows.real;
  }

 private:
  const Timeline& timeline_;
  std::unordered_map<StringId, Rows> told_;
};

}  // namespace

void tell_rows(const Timeline& timeline, std::span<StepStats> steps) {
  Names names(timeline);
  for (StepStats& step : steps) names.take(step, step.name);
  std::unordered_map<std::uint32_t, std::vector<const RangeEvent*>> telling;  // by thread
  for (const RangeEvent& range : timeline.ranges)
    if (const Rows& rows = names.of(range.name); !range.step && (rows.bucket || rows.real))
      telling[range.thread].push_back(&range);
  for (auto& [thread, ranges] : telling)
    std::sort(ranges.begin(), ranges.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  for (StepStats& step : steps) {
    const auto ranges = telling.find(step.thread);
    if (ranges == telling.end()) continue;
    auto at = std::lower_bound(ranges->second.begin(), ranges->second.end(), step.first,
                               [](const RangeEvent* range, std::uint64_t first) { return range->first < first; });
    for (; at != ranges->second.end() && (*at)->first <= step.last && !(step.rows && step.real_rows); ++at)
      names.take(step, (*at)->name);
  }
}

}  // namespace refrain
