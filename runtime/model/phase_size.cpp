#include "runtime/model/phase_size.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace refrain {
namespace {

std::string too_many(const char* phase, const char* what, std::int32_t asked, std::int32_t most) {
  return asked < 1 || asked > most
             ? fmt::format("{} of {} {}: this model is made for 1 to {}", phase, asked, what, most)
             : std::string{};
}

std::string outside_verify(const ServingLimits& limits, const StepShape& step) {
  if (limits.verify_requests < 1) return "verify: this model is made without drafts (verify_requests is 0)";
  if (auto why = too_many("verify", "requests", step.requests, limits.verify_requests); !why.empty()) return why;
  if (auto why = too_many("verify", "drafted tokens a request", step.query_length - 1, limits.drafts); !why.empty())
    return why;
  if (step.rows != step.requests * step.query_length)
    return fmt::format("verify of {} rows: {} requests with {} query tokens each have {}", step.rows, step.requests,
                       step.query_length, step.requests * step.query_length);
  return {};
}

}  // namespace

PhaseSize size_of(const ServingLimits& limits, Phase phase) noexcept {
  const std::int32_t verified = limits.verify_requests * (1 + limits.drafts);
  switch (phase) {
    case Phase::prefill: return {limits.prefill_tokens, limits.prefill_requests};
    case Phase::decode: return {limits.decode_rows, limits.decode_rows};
    case Phase::verify: return {verified, verified};
  }
  return {};
}

std::string unfit_limits(const ServingLimits& limits) {
  if (limits.context < 1 || limits.pages < 2)
    return fmt::format("a context of {} tokens and {} KV pages: at least 1 token and 2 pages, the null block being one",
                       limits.context, limits.pages);
  if (std::min({limits.decode_rows, limits.prefill_tokens, limits.prefill_requests, limits.verify_requests,
                limits.drafts}) < 0)
    return "serving limits below 0: each is 0 (the phase is not served) or more";
  return {};
}

std::string outside_limits(const ServingLimits& limits, const StepShape& step) {
  if (step.phase == Phase::verify) return outside_verify(limits, step);
  const char* phase = to_string(step.phase);
  if (step.query_length != 1)
    return fmt::format("{} with {} query tokens a request: 1 here, more are for verify", phase, step.query_length);
  if (step.phase == Phase::decode) {
    if (auto why = too_many(phase, "rows", step.rows, limits.decode_rows); !why.empty()) return why;
    if (step.requests != step.rows)
      return fmt::format("decode of {} rows for {} requests: a request has one row", step.rows, step.requests);
    return {};
  }
  if (auto why = too_many(phase, "tokens", step.rows, limits.prefill_tokens); !why.empty()) return why;
  return too_many(phase, "requests", step.requests, limits.prefill_requests);
}

}  // namespace refrain
