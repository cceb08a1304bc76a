// verify_draft on the device. Greedy is compared with the twin to the bit;
// rejection with the fp64 oracle, because the exponential is not the host's to the
// last bit; and what is drawn with the target's distribution.
#include "kernels/verify_draft.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/catch.hpp"
#include "tests/gpu/device_run.hpp"
#include "tests/kernels/draft_scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// The outputs are the last two blocks; the rest must be what it was.
struct Got {
  std::vector<std::int32_t> accepted, tokens;
  friend bool operator==(const Got&, const Got&) = default;
};

Got download(const DeviceCopy& copy, const Memory::Photo& given) {
  Memory::Photo photo = copy.download();
  const auto words = [](const std::vector<std::byte>& bytes) {
    std::vector<std::int32_t> out(bytes.size() / 4);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  };
  const std::size_t last = photo.size() - 1;
  Got got{words(photo[last - 1]), words(photo[last])};
  photo[last] = given[last];
  photo[last - 1] = given[last - 1];
  require_same(photo, given);
  return got;
}

/// Launched directly and as a graph over poisoned outputs: the same words, and the oracle's. Returns how many requests
/// were left out for being on an edge.
std::int32_t require_verified(DraftScene& scene) {
  const Memory::Photo given = scene.memory.photo();
  DeviceCopy copy(scene.memory);
  const VerifyDraftArgs args = on_device(copy, scene.args);
  const auto enqueue = [&](void* stream) { verify_draft.launch(args, stream); };
  run_directly(enqueue);
  const Got first = download(copy, given);
  Replay replay(enqueue);
  for (int i = 0; i < 2; ++i) {
    copy.upload(given);
    replay.run();
    REQUIRE((download(copy, given) == first));
  }
  return require_as_oracle(scene, {first.accepted.data(), first.tokens.data()});
}

}  // namespace

TEST_CASE("verify_draft on the device: greedy leaves the twin's words for every vocabulary and length") {
  const std::uint64_t fresh = fresh_seed();
  INFO("seed " << fresh);
  Rng rng(fresh);
  for (const std::int32_t vocab : {1, 17, 1000, 32003})
    for (const std::int32_t drafts : {0, 1, 4}) {
      CAPTURE(vocab, drafts);
      DraftScene scene({.requests = 15, .drafts = drafts, .vocab = vocab}, rng);
      for (const std::int32_t real : {15, 17, 99, 3, 0, -2}) {
        if (real > 15) {  // the pad requests become real ones, so they need lengths and rows
          std::fill_n(scene.draft_lengths + 15, 2, -1);
          for (std::int32_t request = 15; request < 17; ++request)
            std::copy_n(scene.row(0, 0), vocab, scene.row(request, 0));
        }
        *scene.real_requests = real;
        require_as_twin(verify_draft, scene.args, scene.memory);
      }
    }
}

TEST_CASE("verify_draft on the device: ties and NaN and infinities give the twin's words under greedy") {
  Rng rng(fresh_seed());
  for (const std::int32_t vocab : {33, 4000, 4096}) {
    CAPTURE(vocab);
    DraftScene scene({.requests = 30, .drafts = 4, .vocab = vocab}, rng);
    for (std::int32_t request = 0; request < 30; ++request)
      for (std::int32_t at = 0; at <= scene.draft_lengths[request]; ++at) {
        float* row = scene.row(request, at);
        const auto id = [&] { return rng() % static_cast<std::uint64_t>(vocab); };
        switch (rng() % 8) {
          case 0: row[id()] = kNan; break;
          case 1: row[id()] = -kNan; break;
          case 2: std::fill_n(row, vocab, -kInf); break;
          case 3: row[id()] = row[id()] = kInf; break;
          case 4: row[id()] = row[id()] = row[id()] = 100; break;
          case 5: std::fill_n(row, vocab, 0.0f), row[id()] = -0.0f; break;
          default: break;
        }
        if (at < scene.draft_lengths[request]) scene.draft(request, at) = scene.argmax(request, at);
      }
    require_as_twin(verify_draft, scene.args, scene.memory);
  }
}

TEST_CASE("verify_draft on the device: rejection agrees with the oracle for every vocabulary and kind of draft") {
  const std::uint64_t fresh = fresh_seed();
  INFO("seed " << fresh);
  Rng rng(fresh);
  std::int32_t judged = 0, left_out = 0;
  for (const std::int32_t vocab : {1, 17, 1000, 32003})
    for (const std::int32_t drafts : {0, 1, 4, 7})
      for (const bool probs : {true, false}) {
        CAPTURE(vocab, drafts, probs);
        DraftScene scene({.requests = vocab > 10'000 ? 8 : 40,
                          .drafts = drafts,
                          .vocab = vocab,
                          .rule = DraftRule::rejection,
                          .probs = probs},
                         rng);
        judged += scene.shape.requests;
        left_out += require_verified(scene);
      }
  CHECK(judged > 800);
  CHECK(left_out <= 3);
}

TEST_CASE("verify_draft on the device: a vocabulary of 151936 agrees with the oracle") {
  Rng rng(fresh_seed());
  for (const DraftRule rule : {DraftRule::greedy, DraftRule::rejection}) {
    DraftScene scene({.requests = 3, .drafts = 2, .vocab = 151'936, .pad_requests = 1, .rule = rule}, rng);
    CHECK(require_verified(scene) <= 1);
  }
}

TEST_CASE("verify_draft on the device: bad rows and bad drafts and bad q agree with the oracle under rejection") {
  Rng rng(fresh_seed());
  for (int round = 0; round < 3; ++round) {
    DraftScene scene({.requests = 40, .drafts = 4, .vocab = 67, .rule = DraftRule::rejection}, rng);
    for (std::int32_t request = 0; request < 40; ++request)
      for (std::int32_t at = 0; at <= scene.draft_lengths[request]; ++at) {
        const auto id = [&] { return rng() % 67; };
        const bool judged = at < scene.draft_lengths[request];
        switch (rng() % 12) {
          case 0: scene.row(request, at)[id()] = kNan; break;
          case 1: std::fill_n(scene.row(request, at), 67, -kInf); break;
          case 2: scene.row(request, at)[id()] = scene.row(request, at)[id()] = kInf; break;
          case 3:
            if (judged) scene.draft(request, at) = rng() % 2 == 0 ? 67 : INT_MIN;
            break;
          case 4:
            if (judged) scene.q_row(request, at)[id()] = kNan;
            break;
          case 5:
            if (judged) scene.q_row(request, at)[scene.draft(request, at)] = -1;
            break;
          case 6:
            if (judged) std::fill_n(scene.q_row(request, at), 67, kInf);
            break;  // no rest: p itself
          default: break;
        }
      }
    CHECK(require_verified(scene) <= 1);
  }
}

TEST_CASE("verify_draft on the device: a u exactly on an edge takes the next id that has weight") {
  for (const EdgeDraw& edge : edge_draws()) {
    CAPTURE(edge.u, edge.vocab, edge.want);
    DraftScene scene = edge.scene();
    require_as_twin(verify_draft, scene.args, scene.memory);
    CHECK(*scene.tokens == edge.want);
  }
}

TEST_CASE("verify_draft on the device: drawn tokens are distributed as the target and a new offset gives new ones") {
  constexpr std::int32_t kRequests = 20'000, kVocab = 8;
  constexpr double kBound = 41.0;  // chi-square with 7 degrees of freedom exceeds 40.52 with probability 1e-6
  const float target[kVocab] = {0, 1, -1, 2, 0.5f, -3, 1.5f, 0};
  const float proposal[kVocab] = {0.3f, 0.05f, 0.05f, 0.1f, 0.2f, 0.1f, 0.15f, 0.05f};
  Rng rng(5);
  DraftScene scene(
      {.requests = kRequests, .drafts = 1, .vocab = kVocab, .pad_requests = 0, .rule = DraftRule::rejection}, rng);
  scene.seed[0] = 11, scene.seed[1] = 12;
  for (std::int32_t request = 0; request < kRequests; ++request) {
    scene.draft_lengths[request] = 1;
    for (std::int32_t at = 0; at < 2; ++at) std::copy_n(target, kVocab, scene.row(request, at));
    std::copy_n(proposal, kVocab, scene.q_row(request, 0));
    scene.draft(request, 0) = pick(proposal, kVocab, rng);
  }
  const Memory::Photo given = scene.memory.photo();
  DeviceCopy copy(scene.memory);
  const VerifyDraftArgs args = on_device(copy, scene.args);
  Replay replay([&](void* stream) { verify_draft.launch(args, stream); });
  replay.run();
  const Got first = download(copy, given);
  double sum = 0;
  for (const float logit : target) sum += std::exp(double{logit});
  for (std::size_t at = 0; at < 2; ++at) {
    double count[kVocab] = {}, all = 0, chi = 0;
    for (std::size_t i = at; i < first.tokens.size(); i += 2)
      if (first.tokens[i] >= 0) ++count[first.tokens[i]], ++all;
    for (std::int32_t id = 0; id < kVocab; ++id) {
      const double expected = all * std::exp(double{target[id]}) / sum;
      chi += (count[id] - expected) * (count[id] - expected) / expected;
    }
    CAPTURE(at, chi);
    CHECK(chi < kBound);
  }
  // The graph stays; only a number in memory moves on.
  scene.seed[1] = 13;
  const Memory::Photo moved = scene.memory.photo();
  copy.upload(moved);
  replay.run();
  const Got second = download(copy, moved);
  int differing = 0;
  for (std::size_t i = 0; i < first.tokens.size(); ++i) differing += first.tokens[i] != second.tokens[i];
  CHECK(differing > kRequests / 2);
}
