// The enumerators' own names, as recordings write them: `stream_synchronize`,
// `capturing`, `thread_local`. Not CUDA's names, which are for people
// (graphs/capture_rules.hpp). One table each, used both ways, so what is written
// is what is read.
#pragma once

#include <optional>
#include <string_view>

#include "graphs/capture_rules.hpp"
#include "traces/timeline.hpp"

namespace refrain {

[[nodiscard]] const char* word_of(Api) noexcept;
[[nodiscard]] const char* word_of(Target) noexcept;
[[nodiscard]] const char* word_of(CaptureMode) noexcept;
[[nodiscard]] const char* word_of(CheckKind) noexcept;
[[nodiscard]] const char* word_of(StepBasis) noexcept;

/// The enumerator of that name; nothing for another word.
template <class Enum>
[[nodiscard]] std::optional<Enum> find_word(std::string_view text) noexcept;
template <>
[[nodiscard]] std::optional<Api> find_word<Api>(std::string_view text) noexcept;
template <>
[[nodiscard]] std::optional<Target> find_word<Target>(std::string_view text) noexcept;
template <>
[[nodiscard]] std::optional<CaptureMode> find_word<CaptureMode>(std::string_view text) noexcept;
template <>
[[nodiscard]] std::optional<CheckKind> find_word<CheckKind>(std::string_view text) noexcept;
template <>
[[nodiscard]] std::optional<StepBasis> find_word<StepBasis>(std::string_view text) noexcept;

}  // namespace refrain
