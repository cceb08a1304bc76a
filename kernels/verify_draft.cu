// One block a request: it judges the draft tokens one after another, and each
// decision is the same in every thread. A row is read once for its largest logit;
// the later reads of a rejection come from the L2 cache.
#include <cassert>
#include <cstdint>

#include "kernels/device/token_draw.cuh"
#include "kernels/launchers.hpp"
#include "kernels/verify_draft.hpp"

namespace refrain {
namespace {

/// exp(logit - max), and 1 at the maximum whatever it is.
struct TargetWeight {
  const float* logits;
  float max;

  __device__ float operator()(std::int32_t id) const {
    const float logit = __ldg(logits + id);
    return logit == max ? 1.0f : expf(logit - max);
  }
};

/// What one draft token was drawn from; `probs` null: one-hot at `token`.
struct DraftRow {
  const float* probs;
  std::int32_t token;

  __device__ float q(std::int32_t id) const { return probs != nullptr ? __ldg(probs + id) : id == token ? 1.0f : 0.0f; }
};

/// max(p - q, 0), and 0 where q is no probability.
struct RestWeight {
  TargetWeight target;
  float sum;
  DraftRow draft;

  __device__ float operator()(std::int32_t id) const {
    const float q = draft.q(id), more = __fdiv_rn(target(id), sum) - q;
    return q >= 0 && more > 0 ? more : 0.0f;
  }
};

/// A request's view of the Args; the same in all threads of its block.
struct Request {
  const VerifyDraftArgs& args;
  std::int32_t request;
  std::int32_t length;

  __device__ Request(const VerifyDraftArgs& given, std::int32_t at) : args(given), request(at) {
    length = args.drafts == 0 ? 0 : max(0, min(args.draft_lengths[request], args.drafts));
  }

  __device__ const float* row(std::int32_t at) const {
    return args.logits + (std::int64_t{request} * (1 + args.drafts) + at) * args.vocab;
  }
  __device__ DraftRow draft(std::int32_t at) const {
    const std::int64_t index = std::int64_t{request} * args.drafts + at;
    return {args.draft_probs != nullptr ? args.draft_probs + index * args.vocab : nullptr, args.draft_tokens[index]};
  }
  __device__ float uniform(std::int32_t at, Draw purpose) const {
    return draft_uniform(args.seed[0], args.seed[1], request, at, purpose);
  }
};

struct Verdict {
  bool accepted;
  std::int32_t token;  ///< the draft's if accepted, else the next
};

[[nodiscard]] __device__ Verdict judge_greedy(const Request& r, std::int32_t at, std::int32_t argmax) {
  return {at < r.length && r.draft(at).token == argmax, argmax};
}

/// A draft token outside the vocabulary is rejected, and there is no q to take off.
[[nodiscard]] __device__ Verdict judge_by_draw(const Request& r, std::int32_t at, float max,
                                               device::DrawScratch& scratch) {
  const std::int32_t vocab = r.args.vocab;
  const TargetWeight p{r.row(at), max};
  float total = device::sum_runs(vocab, p, scratch);
  const DraftRow d = at < r.length ? r.draft(at) : DraftRow{nullptr, -1};
  if (d.token >= 0 && d.token < vocab) {
    const float q = d.q(d.token);
    if (q >= 0 && r.uniform(at, Draw::accept) * q < __fdiv_rn(p(d.token), total)) return {true, d.token};
    const RestWeight rest{p, total, d};
    const float rest_total = device::sum_runs(vocab, rest, scratch);
    if (rest_total > 0) return {false, device::draw(vocab, rest, rest_total, r.uniform(at, Draw::next), scratch)};
    total = device::sum_runs(vocab, p, scratch);
  }
  return {false, device::draw(vocab, p, total, r.uniform(at, Draw::next), scratch)};
}

/// Returns how many were accepted; thread 0 stores those and the next token.
template <bool kVector>
[[nodiscard]] __device__ std::int32_t judge(const Request& r, std::int32_t* tokens, device::DrawScratch& scratch) {
  for (std::int32_t at = 0;; ++at) {
    const device::RowScan scan = device::scan_row<kVector>(r.row(at), r.args.vocab, scratch);
    Verdict verdict{false, -1};
    if (!scan.bad)
      verdict = r.args.rule == DraftRule::greedy ? judge_greedy(r, at, scan.largest.id)
                                                 : judge_by_draw(r, at, scan.largest.value, scratch);
    if (threadIdx.x == 0) tokens[at] = verdict.token;
    if (!verdict.accepted) return at;
  }
}

template <bool kVector>
__global__ void __launch_bounds__(device::kDrawThreads) verify_draft_kernel(const VerifyDraftArgs args) {
  __shared__ device::DrawScratch scratch;
  const auto request = static_cast<std::int32_t>(blockIdx.x);
  std::int32_t* tokens = args.tokens + std::int64_t{request} * (1 + args.drafts);
  const bool real = request < *args.real_requests;
  const std::int32_t accepted = real ? judge<kVector>(Request(args, request), tokens, scratch) : 0;
  if (threadIdx.x == 0) args.accepted[request] = accepted;
  for (std::int32_t at = static_cast<std::int32_t>(threadIdx.x) + (real ? accepted + 1 : 0); at <= args.drafts;
       at += device::kDrawThreads)
    tokens[at] = -1;
}

}  // namespace

void verify_draft_launch(const VerifyDraftArgs& args, void* stream) {
  assert(args.requests > 0 && args.drafts >= 0 && args.vocab > 0);
  assert(args.rule == DraftRule::greedy || args.seed != nullptr);
  const auto on = static_cast<cudaStream_t>(stream);
  const auto grid = static_cast<unsigned>(args.requests);
  const bool vector = args.vocab % 4 == 0 && reinterpret_cast<std::uintptr_t>(args.logits) % sizeof(float4) == 0;
  vector ? verify_draft_kernel<true><<<grid, device::kDrawThreads, 0, on>>>(args)
         : verify_draft_kernel<false><<<grid, device::kDrawThreads, 0, on>>>(args);
}

}  // namespace refrain
