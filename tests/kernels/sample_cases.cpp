#include <functional>
#include <numeric>
#include <span>

#include "kernels/verify_draft_oracle.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/logit_rows.hpp"

namespace refrain::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kSlack = 1e-5;  ///< of the cumulative sums: what fp32 weights and sums may be off by

struct SampleScene {
  SampleScene(Dtype dtype, std::int32_t real, std::int32_t pads, std::int32_t vocab) {
    const std::int32_t bucket = real + pads;
    logits = take_elements(memory, dtype, std::int64_t{bucket} * vocab);
    auto* rows = memory.take<std::int32_t>(1);
    temperature = memory.take<float>(bucket);
    top_k = memory.take<std::int32_t>(bucket);
    top_p = memory.take<float>(bucket);
    seeds = memory.take<std::uint64_t>(std::int64_t{2} * bucket);
    wanted = memory.take<std::int32_t>(bucket);
    *rows = real;
    args = {.logits = logits,
            .rows = rows,
            .temperature = temperature,
            .top_k = top_k,
            .top_p = top_p,
            .seeds = seeds,
            .wanted = wanted,
            .dtype = dtype,
            .bucket = bucket,
            .vocab = vocab,
            .tokens = memory.take<std::int32_t>(bucket)};
  }

  Memory memory;
  std::byte* logits;
  float *temperature, *top_p;
  std::int32_t *top_k, *wanted;
  std::uint64_t* seeds;
  SampleArgs args;
};

/// One row in fp64: every distribution that a draw may be from. They differ only by a group of equal logits whose sum
/// lies within the slack of top-p's edge.
struct SampleOracle {
  SampleOracle(const SampleScene& scene, std::int32_t row) {
    const SampleArgs& args = scene.args;
    for (std::int32_t id = 0; id < args.vocab; ++id)
      logits.push_back(load_as_float(args.logits, args.dtype, std::int64_t{row} * args.vocab + id));
    const double max = *std::max_element(logits.begin(), logits.end());
    for (const double logit : logits)
      weights.push_back(logit == max ? 1 : logit - max == -kInf ? 0 : std::exp((logit - max) / scene.temperature[row]));
    std::map<double, std::pair<double, std::int64_t>, std::greater<>> groups;  // logit: sum of weights, ids
    for (std::size_t id = 0; id < logits.size(); ++id) {
      groups[logits[id]].first += weights[id];
      ++groups[logits[id]].second;
    }
    const bool all = scene.top_k[row] < 1 || scene.top_k[row] >= args.vocab;
    double total = 0, least = -kInf;
    std::int64_t ids = 0;
    for (const auto& [logit, group] : groups) {
      total += group.first, ids += group.second, least = logit;
      if (!all && ids >= scene.top_k[row]) break;
    }
    const double p = scene.top_p[row];
    if (p >= 1) {
      keep(least);
      return;
    }
    double before = 0;
    for (const auto& [logit, group] : groups) {
      const double after = before + group.first;
      const bool last = logit == least, first = before == 0;
      if ((first || before < (p + kSlack) * total) && (last || after >= (p - kSlack) * total)) keep(logit);
      if (last) break;
      before = after;
    }
  }

  void keep(double least) {
    std::vector<double> kept;
    for (std::size_t id = 0; id < logits.size(); ++id) kept.push_back(logits[id] >= least ? weights[id] : 0);
    const double total = std::accumulate(kept.begin(), kept.end(), 0.0);
    for (double& weight : kept) weight /= total;
    distributions.push_back(std::move(kept));
  }

  [[nodiscard]] bool fits(std::int32_t token, double u) const {
    return std::any_of(distributions.begin(), distributions.end(),
                       [&](const auto& distribution) { return draw_fits(distribution, token, u, kSlack); });
  }

  std::vector<double> logits, weights;
  std::vector<std::vector<double>> distributions;
};

void require_row(const SampleScene& scene, std::int32_t row) {
  const SampleArgs& args = scene.args;
  const float temperature = scene.temperature[row], top_p = scene.top_p[row];
  CAPTURE(row, temperature, scene.top_k[row], top_p);
  const std::int32_t token = args.tokens[row];
  const std::int32_t largest = row < *args.rows && scene.wanted[row] >= 0 && temperature >= 0 && !std::isnan(top_p)
                                   ? right_argmax(args.logits, args.dtype, row, args.vocab)
                                   : -1;
  if (largest < 0 || temperature == 0) {
    REQUIRE(token == largest);
    return;
  }
  const double u = sample_uniform(scene.seeds[2 * row], scene.seeds[2 * row + 1]);
  INFO("token " << token << ", u " << u);
  REQUIRE(SampleOracle(scene, row).fits(token, u));
}

}  // namespace

void sample_cases(const RunOp<SampleArgs>& run) {
  const std::uint64_t fresh = fresh_seed();
  INFO("seed " << fresh);
  Rng rng(fresh);
  const float temperatures[] = {0, 0.01f, 0.7f, 1, 1, 2.5f, static_cast<float>(kInf), -1, NAN};
  const float shares[] = {1, 1, 2, 0.95f, 0.5f, 0.1f, 0, -1, NAN};
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16})
    for (const std::int32_t vocab : {1, 17, 1000, 32'003, 32'000}) {
      CAPTURE(vocab);
      const std::int32_t real = vocab > 10'000 ? 60 : 200, counts[] = {0, -3, 1, 2, 5, 50, vocab, vocab + 7};
      SampleScene scene(dtype, real, 3, vocab);
      for (std::int32_t row = 0; row < real + 2; ++row) {  // two of the pad rows are plausible
        fill_logits(scene.logits, dtype, row, vocab, rng);
        scene.temperature[row] = temperatures[rng() % std::size(temperatures)];
        scene.top_k[row] = counts[rng() % std::size(counts)];
        scene.top_p[row] = shares[rng() % std::size(shares)];
        scene.seeds[2 * row] = rng(), scene.seeds[2 * row + 1] = rng();
        scene.wanted[row] = rng() % 8 == 0 ? -1 - static_cast<std::int32_t>(rng() % 3) : row;
      }
      run(scene.args, scene.memory);
      for (std::int32_t row = 0; row < real + 3; ++row) require_row(scene, row);
    }
}

void sample_draws(const RunOp<SampleArgs>& run) {
  constexpr std::int32_t kRows = 20'000, kVocab = 8;
  constexpr float kLogits[kVocab] = {0, 1, -1, 2, 0.5f, -3, 1.5f, 0};
  constexpr double kBound = 41;  // chi-square with 7 degrees of freedom exceeds 40.52 with probability 1e-6
  struct Setting {
    float temperature;
    std::int32_t top_k;
    float top_p;
    std::vector<std::int32_t> kept;  // by hand
  };
  const Setting settings[] = {{1, 0, 1, {0, 1, 2, 3, 4, 5, 6, 7}},
                              {0.7f, 3, 1, {1, 3, 6}},
                              {2, 5, 1, {0, 1, 3, 4, 6, 7}},  // 0 and 7 are equal: both stay
                              {0.7f, 0, 0.8f, {1, 3, 6}},     // e^(x / 0.7): 17.4 + 8.5 + 4.2 of 35.5
                              {1, 2, 0.6f, {3}}};  // 7.4 of the 11.9 that top-k left is 62 %, of all 18.7 only 40 %
  for (const auto& [temperature, top_k, top_p, kept] : settings) {
    CAPTURE(temperature, top_k, top_p);
    SampleScene scene(Dtype::fp32, kRows, 0, kVocab);
    for (std::int32_t row = 0; row < kRows; ++row)
      scene.seeds[2 * row] = 11, scene.seeds[2 * row + 1] = static_cast<std::uint64_t>(row);
    scene.args.wanted = nullptr;
    std::fill_n(scene.temperature, kRows, temperature);
    std::fill_n(scene.top_k, kRows, top_k);
    std::fill_n(scene.top_p, kRows, top_p);
    for (std::int64_t i = 0; i < std::int64_t{kRows} * kVocab; ++i)
      store_from_float(scene.logits, Dtype::fp32, i, kLogits[i % kVocab]);
    run(scene.args, scene.memory);
    double count[kVocab] = {}, sum = 0, chi = 0, all = 0;
    for (std::int32_t row = 0; row < kRows; ++row) {
      REQUIRE(scene.args.tokens[row] >= 0);
      ++count[scene.args.tokens[row]];
    }
    for (const std::int32_t id : kept) sum += std::exp(kLogits[id] / double{temperature});
    for (const std::int32_t id : kept) {
      const double expected = kRows * std::exp(kLogits[id] / double{temperature}) / sum;
      chi += (count[id] - expected) * (count[id] - expected) / expected;
      all += count[id];
    }
    CHECK(all == kRows);
    CHECK(chi < kBound);
  }
}

}  // namespace refrain::test
