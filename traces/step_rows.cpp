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
  /// A payload counts before the name.
  Rows of(const RangeEvent& range) {
    Rows rows = of(range.name);
    if (range.rows.bucket != RowCounts::kNotTold) rows.bucket = range.rows.bucket;
    if (range.rows.real != RowCounts::kNotTold) rows.real = range.rows.real;
    return rows;
  }

 private:
  const Timeline& timeline_;
  std::unordered_map<StringId, Rows> told_;
};

void take(StepStats& step, const Rows& rows) {
  if (!step.rows) step.rows = rows.bucket;
  if (!step.real_rows) step.real_rows = rows.real;
}

}  // namespace

void tell_rows(const Timeline& timeline, std::span<StepStats> steps, std::span<const RangeEvent* const> ranges) {
  Names names(timeline);
  for (std::size_t i = 0; i < steps.size(); ++i) take(steps[i], names.of(*ranges[i]));
  std::unordered_map<std::uint32_t, std::vector<const RangeEvent*>> telling;  // by thread
  for (const RangeEvent& range : timeline.ranges)
    if (const Rows rows = names.of(range); !range.step && (rows.bucket || rows.real))
      telling[range.thread].push_back(&range);
  for (auto& [thread, inside] : telling)
    std::sort(inside.begin(), inside.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  for (StepStats& step : steps) {
    const auto inside = telling.find(step.thread);
    if (inside == telling.end()) continue;
    auto at = std::lower_bound(inside->second.begin(), inside->second.end(), step.first,
                               [](const RangeEvent* range, std::uint64_t first) { return range->first < first; });
    for (; at != inside->second.end() && (*at)->first <= step.last && !(step.rows && step.real_rows); ++at)
      take(step, names.of(**at));
  }
  for (StepStats& step : steps)
    if (step.rows && step.real_rows && *step.real_rows > *step.rows) step.rows = step.real_rows = std::nullopt;
}

}  // namespace refrain
