// The twin judges a request's draft tokens one after another, in fp32, with the
// kernel's runs of ids; the order inside a run is its own, so a draw on the very
// edge between two tokens may fall on either side.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/host_twins.hpp"
#include "kernels/verify_draft.hpp"

namespace refrain {
namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();

/// One target row. `bad`: it holds a NaN, or nothing above -inf.
struct Row {
  const float* logits;
  std::int32_t vocab;
  std::int32_t argmax = -1;
  float max = kNegativeInf;
  bool bad = false;

  Row(const float* data, std::int32_t width) : logits(data), vocab(width) {
    for (std::int32_t id = 0; id < vocab; ++id) {
      if (std::isnan(logits[id])) bad = true;
      if (logits[id] > max) max = logits[id], argmax = id;
    }
    bad = bad || argmax < 0;
  }

  /// exp(logit - max), and 1 at the maximum whatever it is.
  [[nodiscard]] float weight(std::int32_t id) const { return logits[id] == max ? 1.0f : std::exp(logits[id] - max); }
};

/// What one draft token was drawn from.
struct DraftRow {
  const float* probs;  ///< null: one-hot at `token`
  std::int32_t token;

  [[nodiscard]] float q(std::int32_t id) const { return probs != nullptr ? probs[id] : id == token ? 1.0f : 0.0f; }
};

/// Sums of consecutive ids' weights, over kDrawRuns runs; a run is summed in tiles, for one long fp32 sum would drift.
struct RunSums {
  static constexpr std::int32_t kTile = 32;
  std::int32_t vocab, run;
  float sums[kDrawRuns] = {};
  float total = 0;

  template <class Weight>
  RunSums(std::int32_t width, Weight weight) : vocab(width), run((width - 1) / kDrawRuns + 1) {
    for (std::int32_t at = 0; at < kDrawRuns; ++at)
      for (std::int32_t first = at * run; first < end(at); first += kTile) sums[at] += tile_sum(first, end(at), weight);
    for (const float sum : sums) total += sum;
  }

  /// The id at which the running sum passes u * total: never one without weight. Needs total > 0.
  template <class Weight>
  [[nodiscard]] std::int32_t draw(Weight weight, float u) const {
    const float target = u * total;
    float before = 0;
    std::int32_t at = 0, last = -1;
    while (at < kDrawRuns - 1 && before + sums[at] <= target) before += sums[at++];
    for (std::int32_t first = at * run; first < end(at); first += kTile) {
      float up_to = 0;
      for (std::int32_t id = first; id < std::min(first + kTile, end(at)); ++id) {
        const float w = weight(id);
        if (!(w > 0)) continue;
        last = id;
        up_to += w;
        if (before + up_to > target) return id;
      }
      before += up_to;
    }
    return last;  // the run's sum passed the target, the tiles' sums just do not
  }

 private:
  [[nodiscard]] std::int32_t end(std::int32_t at) const { return std::min(vocab, (at + 1) * run); }

  template <class Weight>
  [[nodiscard]] static float tile_sum(std::int32_t first, std::int32_t end, Weight weight) {
    float sum = 0;
    for (std::int32_t id = first; id < std::min(first + kTile, end); ++id) sum += weight(id);
    return sum;
  }
};

class Request {
 public:
  Request(const VerifyDraftArgs& args, std::int32_t request) : args_(args), request_(request) {}

  /// Fills `tokens` with the accepted ones and the next; returns how many were accepted.
  std::int32_t judge(std::int32_t* tokens) const {
    const std::int32_t length = args_.drafts == 0 ? 0 : std::clamp(args_.draft_lengths[request_], 0, args_.drafts);
    for (std::int32_t at = 0;; ++at) {
      const Row row(args_.logits + (std::int64_t{request_} * (1 + args_.drafts) + at) * args_.vocab, args_.vocab);
      const bool judged = at < length && !row.bad;
      const bool accepted =
          judged && (args_.rule == DraftRule::greedy ? draft(at).token == row.argmax : accept(row, at));
      tokens[at] = accepted ? draft(at).token : row.bad ? -1 : next(row, at, judged);
      if (!accepted) return at;
    }
  }

 private:
  [[nodiscard]] DraftRow draft(std::int32_t at) const {
    const std::int64_t index = std::int64_t{request_} * args_.drafts + at;
    return {args_.draft_probs != nullptr ? args_.draft_probs + index * args_.vocab : nullptr,
            args_.draft_tokens[index]};
  }

  [[nodiscard]] float uniform(std::int32_t at, Draw purpose) const {
    return draft_uniform(args_.seed[0], args_.seed[1], request_, at, purpose);
  }

  [[nodiscard]] bool known(std::int32_t token) const { return token >= 0 && token < args_.vocab; }

  [[nodiscard]] bool accept(const Row& row, std::int32_t at) const {
    const DraftRow d = draft(at);
    if (!known(d.token)) return false;
    const RunSums sums(args_.vocab, [&](std::int32_t id) { return row.weight(id); });
    const float q = d.q(d.token);
    return q >= 0 && uniform(at, Draw::accept) * q < row.weight(d.token) / sums.total;
  }

  /// `rejected`: the position had a draft token. One outside the vocabulary was drawn from no q that could be taken
  /// off.
  [[nodiscard]] std::int32_t next(const Row& row, std::int32_t at, bool rejected) const {
    if (args_.rule == DraftRule::greedy) return row.argmax;
    const float u = uniform(at, Draw::next);
    const auto p = [&](std::int32_t id) { return row.weight(id); };
    const RunSums sums(args_.vocab, p);
    if (rejected && known(draft(at).token)) {
      const DraftRow d = draft(at);
      const auto rest = [&](std::int32_t id) {
        const float q = d.q(id), more = row.weight(id) / sums.total - q;
        return q >= 0 && more > 0 ? more : 0.0f;
      };
      const RunSums rest_sums(args_.vocab, rest);
      if (rest_sums.total > 0) return rest_sums.draw(rest, u);
    }
    return sums.draw(p, u);
  }

  const VerifyDraftArgs& args_;
  std::int32_t request_;
};

}  // namespace

void verify_draft_host(const VerifyDraftArgs& args) {
  const std::int32_t real = std::clamp(*args.real_requests, 0, args.requests);
  for (std::int32_t request = 0; request < args.requests; ++request) {
    std::int32_t* tokens = args.tokens + std::int64_t{request} * (1 + args.drafts);
    std::fill_n(tokens, 1 + args.drafts, -1);
    args.accepted[request] = request < real ? Request(args, request).judge(tokens) : 0;
  }
}

}  // namespace refrain
