#include "kernels/verify_draft_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace refrain {
namespace {

using Distribution = std::vector<double>;

/// Softmax of one row; empty for a row that has none.
Distribution softmax(std::span<const float> row) {
  double top = -std::numeric_limits<double>::infinity();
  for (const float logit : row) {
    if (std::isnan(logit)) return {};
    top = std::max(top, double{logit});
  }
  if (std::isinf(top) && top < 0) return {};
  Distribution p;
  for (const float logit : row) p.push_back(std::isinf(top) ? double{logit} == top : std::exp(double{logit} - top));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
  return p;
}

Distribution one_hot(std::size_t width, std::size_t at) {
  Distribution out(width);
  if (at < width) out[at] = 1;
  return out;
}

/// What a draft token was drawn from; all zeros for one outside the vocabulary, which leaves p as it is.
Distribution draft_distribution(const DraftCase& one, std::size_t at) {
  const auto width = static_cast<std::size_t>(one.vocab);
  const auto token = static_cast<std::size_t>(one.draft[at]);
  if (one.probs.empty() || token >= width) return one_hot(width, token);
  const auto row = one.probs.subspan(at * width, width);
  return {row.begin(), row.end()};
}

void take_rest(DraftVerdict& verdict, const Distribution& p, const Distribution& q) {
  Distribution rest(p.size());
  for (std::size_t id = 0; id < p.size(); ++id)
    if (p[id] > q[id] && q[id] >= 0) rest[id] = p[id] - q[id];  // false for NaN
  const double mass = std::accumulate(rest.begin(), rest.end(), 0.0);
  verdict.next = p;
  if (mass <= 0) return;  // nothing is left: the next token comes from p itself
  verdict.mass = mass;
  for (std::size_t id = 0; id < p.size(); ++id) verdict.next[id] = rest[id] / mass;
}

bool accepts(DraftVerdict& verdict, double p, double q, double u) {
  if (!(q >= 0)) return false;
  if (q > 0) verdict.margin = std::min(verdict.margin, std::abs(u - p / q));
  return q > 0 ? u < p / q : p > 0;
}

}  // namespace

DraftVerdict verify_draft_oracle(const DraftCase& one) {
  const auto width = static_cast<std::size_t>(one.vocab);
  DraftVerdict verdict;
  for (std::size_t at = 0;; ++at) {
    const auto row = one.logits.subspan(at * width, width);
    const Distribution p = softmax(row);
    if (p.empty()) return verdict;
    const bool last = at == one.draft.size();
    const auto token = last ? width : static_cast<std::size_t>(one.draft[at]);
    if (one.greedy) {
      const auto best = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
      verdict.next = one_hot(width, best);
      if (last || token != best) return verdict;
    } else {
      verdict.next = p;
      if (last) return verdict;
      const Distribution q = draft_distribution(one, at);
      if (token >= width || !accepts(verdict, p[token], q[token], one.uniforms[at])) {
        take_rest(verdict, p, q);
        return verdict;
      }
    }
    ++verdict.accepted;
    verdict.next.clear();
  }
}

bool draw_fits(std::span<const double> distribution, std::int32_t token, double u, double slack) {
  const auto id = static_cast<std::size_t>(token);
  if (id >= distribution.size() || distribution[id] <= 0) return false;
  const double before = std::accumulate(distribution.begin(), distribution.begin() + token, 0.0);
  return before - slack <= u && u <= before + distribution[id] + slack;
}

}  // namespace refrain
