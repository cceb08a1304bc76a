// The words of the enums, backwards: from `read_write` to Mode::read_write. The
// words themselves are those of to_string, so that reading and writing agree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "graphs/graph.hpp"

namespace refrain {

template <class Enum>
inline constexpr Enum kLastWord = Enum{};
template <>
inline constexpr Mode kLastWord<Mode> = Mode::accumulate;
template <>
inline constexpr Reach kLastWord<Reach> = Reach::may;
template <>
inline constexpr Role kLastWord<Role> = Role::state;
template <>
inline constexpr CacheTokens kLastWord<CacheTokens> = CacheTokens::settled;
template <>
inline constexpr Dtype kLastWord<Dtype> = Dtype::ue8m0;
template <>
inline constexpr Fact kLastWord<Fact> = Fact::finite;
template <>
inline constexpr NodeKind kLastWord<NodeKind> = NodeKind::other;
template <>
inline constexpr EdgeKind kLastWord<EdgeKind> = EdgeKind::programmatic;
template <>
inline constexpr MemorySpace kLastWord<MemorySpace> = MemorySpace::managed;
template <>
inline constexpr Certainty kLastWord<Certainty> = Certainty::inferred;
template <>
inline constexpr Origin kLastWord<Origin> = Origin::previous_replay;
template <>
inline constexpr Unseen kLastWord<Unseen> = Unseen::bodies;

template <class Enum>
[[nodiscard]] std::optional<Enum> from_word(std::string_view text) noexcept {
  static_assert(static_cast<std::size_t>(kLastWord<Enum>) > 0, "name the last enumerator above");
  for (std::size_t i = 0; i <= static_cast<std::size_t>(kLastWord<Enum>); ++i)
    if (text == to_string(static_cast<Enum>(i))) return static_cast<Enum>(i);
  return std::nullopt;
}

/// `read, write, read_write, accumulate`, for a message.
template <class Enum>
[[nodiscard]] std::string all_words() {
  std::string list;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(kLastWord<Enum>); ++i) {
    if (i != 0) list += ", ";
    list += to_string(static_cast<Enum>(i));
  }
  return list;
}

}  // namespace refrain
