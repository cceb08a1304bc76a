#include "runtime/engine/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace refrain {
namespace {

std::optional<Refusal> refuse_ids(const Request& r, std::int32_t vocabulary) {
  const auto unknown = [&](std::int32_t id) { return id < 0 || id >= vocabulary; };
  const auto bad = std::find_if(r.prompt.begin(), r.prompt.end(), unknown);
  if (bad != r.prompt.end())
    return Refusal{
        "token outside the vocabulary",
        fmt::format("token {} at place {} of the prompt is outside the vocabulary of {}; check the tokenizer", *bad,
                    bad - r.prompt.begin(), vocabulary)};
  const auto stop = std::find_if(r.stop.begin(), r.stop.end(), unknown);
  if (stop != r.stop.end())
    return Refusal{
        "token outside the vocabulary",
        fmt::format("stop token {} is outside the vocabulary of {} and would never come", *stop, vocabulary)};
  return std::nullopt;
}

std::optional<Refusal> refuse_sampling(const Request& r) {
  const auto bad = [](std::string reason) { return Refusal{"sampling values", std::move(reason)}; };
  if (!std::isfinite(r.temperature) || r.temperature < 0)
    return bad(fmt::format("a temperature of {}; expected 0 (argmax) or more", r.temperature));
  if (r.top_k < 0) return bad(fmt::format("top_k {}; expected 0 (all ids) or more", r.top_k));
  if (!(r.top_p > 0 && r.top_p <= 1)) return bad(fmt::format("top_p {}; expected more than 0 and at most 1", r.top_p));
  return std::nullopt;
}

std::optional<Refusal> refuse_length(const Request& r, const Model& model) {
  const ServingLimits& limits = model.limits();
  const auto prompt = static_cast<std::int64_t>(r.prompt.size());
  if (prompt == 0) return Refusal{"empty prompt", "the prompt is empty; expected one token or more"};
  if (r.max_tokens < 1)
    return Refusal{"no tokens asked for", fmt::format("max_tokens {}; expected 1 or more", r.max_tokens)};
  if (prompt + r.max_tokens > limits.context)
    return Refusal{"over the context",
                   fmt::format("{} prompt tokens and {} to come are over the context of {}; shorten one of them",
                               prompt, r.max_tokens, limits.context)};
  const std::int64_t size = model.page_size(), pages = (most_cached(prompt, r.max_tokens) + size - 1) / size;
  if (pages > limits.pages - 1)
    return Refusal{"over the pool",
                   fmt::format("it needs up to {} pages of {} tokens and the pool has {}; make the pool larger", pages,
                               size, limits.pages - 1)};
  return std::nullopt;
}

}  // namespace

const char* to_string(Finish finish) noexcept {
  switch (finish) {
    case Finish::length: return "length";
    case Finish::stop: return "stop";
    case Finish::cancelled: return "cancelled";
    case Finish::failed: return "failed";
  }
  return "?";
}

std::optional<Refusal> refusal_of(const Request& request, const Model& model) {
  if (auto refusal = refuse_length(request, model)) return refusal;
  if (auto refusal = refuse_ids(request, model.vocabulary())) return refusal;
  return refuse_sampling(request);
}

}  // namespace refrain
