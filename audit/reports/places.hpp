// Finds the graph that a finding is about, by its input and path, so that a
// report can name and draw its nodes. It borrows the subjects.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "audit/finding.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// `file:line` taken apart.
struct CallSite {
  std::string file;
  std::uint64_t line = 0;
};

class Places {
 public:
  explicit Places(std::span<const Subject> subjects);

  /// Null for a finding that names no graph.
  [[nodiscard]] const GraphView* graph(const Finding& finding) const;
  /// Where the finding's first node that knows it was launched from.
  [[nodiscard]] std::optional<CallSite> call_site(const Finding& finding) const;
  /// In input order.
  [[nodiscard]] const std::deque<SubjectView>& views() const noexcept { return views_; }

 private:
  std::deque<SubjectView> views_;
  std::unordered_map<std::string, const GraphView*> graphs_;  // first of its name
};

/// Nothing for a text that is no `file:line`.
[[nodiscard]] std::optional<CallSite> parse_call_site(std::string_view text);

}  // namespace refrain
