// verify_draft: which of the K drafted tokens of each request the target model
// accepts, and the token that follows them; all on the device, so that the next step
// needs no host. Greedy: a draft token is accepted while it is the target's argmax.
// Rejection: token d is accepted while u < p(d) / q(d), else the next token comes from
// the normalised max(p - q, 0); after K accepted ones a bonus token comes from p.
#pragma once

#include <cstdint>

#include "kernels/op.hpp"
#include "kernels/philox.hpp"

namespace refrain {

enum class DraftRule : std::uint8_t { greedy, rejection };

struct VerifyDraftArgs {
  const float* logits = nullptr;  ///< [requests, 1 + drafts, vocab]: target logits after the i-th query token
  const std::int32_t* draft_tokens = nullptr;   ///< [requests, drafts]; entries past draft_lengths are garbage
  const std::int32_t* draft_lengths = nullptr;  ///< [requests]: 0 .. drafts
  const float* draft_probs = nullptr;   ///< [requests, drafts, vocab]: q; null: the draft was greedy, q is one-hot
  const std::uint64_t* seed = nullptr;  ///< [2]: seed and offset; read for `rejection`, null for `greedy`
  const std::int32_t* real_requests = nullptr;  ///< [1]; requests at or past it get accepted 0 and tokens -1
  DraftRule rule = DraftRule::greedy;
  std::int32_t requests = 0, drafts = 0, vocab = 0;
  std::int32_t* accepted = nullptr;  ///< out [requests]: 0 .. drafts
  std::int32_t* tokens = nullptr;    ///< out [requests, 1 + drafts]: the accepted ones, the next token, then -1
};

/// Every element of accepted and tokens is written. A target row with a NaN, or with nothing above -inf, accepts no
/// more and gives -1 as the next token: a plausible token would be worse. Ties of an argmax go to the lowest id; rows
/// behind the one that gives the next token are not looked at.
///
/// Rejection, all in fp32: logits of +inf share p among them; a draft token outside the vocabulary is rejected and
/// leaves p as it is; a q that is NaN or negative rejects, and takes its id out of p - q; where max(p - q, 0) is 0
/// everywhere, the next token comes from p. The weights of a draw are summed in order of id, over 32 runs.
extern const Op<VerifyDraftArgs> verify_draft;

/// `accept`: drawn for each draft token that is judged. `next`: drawn once, for the token after the accepted ones.
enum class Draw : std::uint32_t { accept, next };

/// The uniform in [0, 1) that position `at` of `request` draws: Philox 4x32-10 keyed by the seed, counter (offset's
/// low and high half, request, 2 * at + purpose). The same bits on host and device.
[[nodiscard]] constexpr float draft_uniform(std::uint64_t seed, std::uint64_t offset, std::int32_t request,
                                            std::int32_t at, Draw purpose) noexcept {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const PhiloxCounter drawn =
      philox4x32_10({{low(offset), low(offset >> 32), static_cast<std::uint32_t>(request),
                      2 * static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(purpose)}},
                    {{low(seed), low(seed >> 32)}});
  return uniform_of(drawn.words[0]);
}

/// Runs of consecutive ids whose weights are summed apart, so that a draw looks at one run and not at all ids.
inline constexpr std::int32_t kDrawRuns = 32;

}  // namespace refrain
