// What an engine is asked for and what it answers. Plain values; when a request can never
// be served it is refused before it begins, with the reason in one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/model.hpp"

namespace refrain {

struct Request {
  std::vector<std::int32_t> prompt;  ///< token ids
  std::int32_t max_tokens = 16;
  float temperature = 0;   ///< 0 is argmax
  std::int32_t top_k = 0;  ///< 0: all ids
  float top_p = 1;
  std::uint64_t seed = 0;
  std::vector<std::int32_t> stop;  ///< token ids that end the answer
};

/// `length`: max_tokens are there. `stop`: the last token is one that ends an answer. `failed`: the model gave a row
/// that can't be judged.
enum class Finish : std::uint8_t { length, stop, cancelled, failed };
[[nodiscard]] const char* to_string(Finish) noexcept;

struct Completion {
  std::uint64_t id = 0;
  std::vector<std::int32_t> tokens;  ///< of the answer
  Finish finish = Finish::length;
  std::size_t prompt_tokens = 0;
  std::uint32_t preemptions = 0;
  std::uint64_t first_token_ns = 0;  ///< since submit(); 0 when there was none
  std::uint64_t total_ns = 0;        ///< since submit()
};

/// `kind` is one of few words, for counters; `reason` is for people: what, what was expected, what to do.
struct Refusal {
  const char* kind = "";
  std::string reason;
};

/// Why the request can never be served; nothing when it can.
[[nodiscard]] std::optional<Refusal> refusal_of(const Request& request, const Model& model);

/// Tokens whose K and V a request needs at most: the last token of its answer is never looked at.
[[nodiscard]] constexpr std::int64_t most_cached(std::int64_t prompt, std::int64_t max_tokens) noexcept {
  return prompt + max_tokens - 1;
}

}  // namespace refrain
