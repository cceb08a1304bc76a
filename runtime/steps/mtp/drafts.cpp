#include "runtime/steps/mtp/drafts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/transfer.hpp"

namespace refrain {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

std::int32_t bucket_requests(const StepOptions& o) {
  return (o.bucket_rows() + o.drafts) / (1 + o.drafts);
}

std::int32_t argmax(const float* row) {
  return static_cast<std::int32_t>(std::max_element(row, row + kDraftVocab) - row);
}

/// The draft's opinion: the target's logits with noise on them, as probabilities.
void put_probabilities(const float* logits, float* out, std::mt19937_64& random) {
  std::normal_distribution<float> noise(0.0f, 0.5f);
  float sum = 0;
  for (std::int32_t id = 0; id < kDraftVocab; ++id) sum += out[id] = std::exp(logits[id] + noise(random));
  for (std::int32_t id = 0; id < kDraftVocab; ++id) out[id] /= sum;
}

}  // namespace

DraftInputs::DraftInputs(const StepOptions& o)
    : requests(bucket_requests(o)), seed{o.seed, 7}, real_requests{o.requests} {
  std::mt19937_64 random(o.seed + 1);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::uniform_int_distribution<std::int32_t> any(0, kDraftVocab - 1), one_of_five(0, 4);
  logits.assign(at(std::int64_t{requests} * (1 + o.drafts) * kDraftVocab), 0.0f);
  tokens.assign(at(std::int64_t{requests} * o.drafts), -1);
  lengths.assign(at(requests), 0);
  if (o.draft_rule == DraftRule::rejection) probs.assign(at(std::int64_t{requests} * o.drafts * kDraftVocab), 0.0f);
  for (std::int32_t request = 0; request < o.requests; ++request) {
    const std::int32_t drafted = request % 3 == 2 ? o.drafts - 1 : o.drafts;
    lengths[at(request)] = drafted;
    float* rows = logits.data() + std::int64_t{request} * (1 + o.drafts) * kDraftVocab;
    for (std::int64_t i = 0; i < std::int64_t{1 + o.drafts} * kDraftVocab; ++i) rows[i] = normal(random);
    for (std::int32_t i = 0; i < o.drafts; ++i) {
      const std::int64_t place = std::int64_t{request} * o.drafts + i;
      const bool agrees = one_of_five(random) != 0 && i < drafted;
      tokens[at(place)] = agrees ? argmax(rows + std::int64_t{i} * kDraftVocab) : any(random);
      if (!probs.empty())
        put_probabilities(rows + std::int64_t{i} * kDraftVocab, probs.data() + place * kDraftVocab, random);
    }
  }
}

DraftBuffers::DraftBuffers(Arena& arena, const StepOptions& o) : options_(o), inputs_(o) {
  const auto lease = [&](const char* name, std::size_t count, Role role, Dtype dtype) {
    return arena.lease({name, count * dtype_bytes(dtype), role, dtype});
  };
  const auto requests = static_cast<std::size_t>(inputs_.requests), drafts = static_cast<std::size_t>(o.drafts);
  logits_ = lease("target logits", inputs_.logits.size(), Role::input, Dtype::fp32);
  tokens_ = lease("draft tokens", inputs_.tokens.size(), Role::input, Dtype::i32);
  lengths_ = lease("draft lengths", inputs_.lengths.size(), Role::input, Dtype::i32);
  if (!inputs_.probs.empty()) {
    probs_ = lease("draft probabilities", inputs_.probs.size(), Role::input, Dtype::fp32);
    seed_ = lease("draft seed", 2, Role::input, Dtype::i64);
  }
  real_requests_ = lease("real requests", 1, Role::input, Dtype::i32);
  accepted_ = lease("accepted", requests, Role::output, Dtype::i32);
  next_ = lease("tokens", requests * (1 + drafts), Role::output, Dtype::i32);
}

std::uint64_t DraftBuffers::arena_bytes(const StepOptions& o) {
  constexpr std::uint64_t kSlack = 16 * 1024;
  const auto requests = static_cast<std::uint64_t>(bucket_requests(o)), drafts = static_cast<std::uint64_t>(o.drafts);
  return requests * ((1 + 2 * drafts) * kDraftVocab * 4 + (drafts + 2) * 8) + kSlack;
}

void DraftBuffers::upload(Driver& driver) const {
  write_array(driver, logits_, inputs_.logits);
  write_array(driver, tokens_, inputs_.tokens);
  write_array(driver, lengths_, inputs_.lengths);
  if (!inputs_.probs.empty()) {
    write_array(driver, probs_, inputs_.probs);
    write_array(driver, seed_, inputs_.seed);
  }
  write_array(driver, real_requests_, inputs_.real_requests);
  settle_writes(driver);
}

void DraftBuffers::declare_entry(Recorder& recorder) const {
  const auto each_launch = [&](const Lease& lease, std::uint64_t bytes) {
    recorder.entry(Fact::written, lease.address(), bytes, Origin::host_each_launch, "the host, before every launch");
  };
  each_launch(logits_, inputs_.logits.size() * 4);
  each_launch(tokens_, inputs_.tokens.size() * 4);
  each_launch(lengths_, inputs_.lengths.size() * 4);
  if (!inputs_.probs.empty()) {
    each_launch(probs_, inputs_.probs.size() * 4);
    each_launch(seed_, 16);
  }
  each_launch(real_requests_, 4);
}

VerifyDraftArgs DraftBuffers::args() const {
  VerifyDraftArgs args;
  args.logits = logits_.as<float>();
  args.draft_tokens = tokens_.as<std::int32_t>();
  args.draft_lengths = lengths_.as<std::int32_t>();
  if (!inputs_.probs.empty()) {
    args.draft_probs = probs_.as<float>();
    args.seed = seed_.as<std::uint64_t>();
  }
  args.real_requests = real_requests_.as<std::int32_t>();
  args.rule = options_.draft_rule;
  args.requests = inputs_.requests;
  args.drafts = options_.drafts;
  args.vocab = kDraftVocab;
  args.accepted = accepted_.as<std::int32_t>();
  args.tokens = next_.as<std::int32_t>();
  return args;
}

std::vector<OutputTensor> DraftBuffers::tensors() const {
  return {{"accepted", accepted_.address(), Dtype::i32, inputs_.requests, options_.requests, 1, 1},
          {"tokens", next_.address(), Dtype::i32, inputs_.requests, options_.requests, 1, 1 + options_.drafts}};
}

std::vector<PoisonAxis> DraftBuffers::axes() const {
  std::vector<PoisonAxis> axes;
  axes.push_back({"drafts past length", kIndexFills, [this](Driver& d, Fill fill) { poison_past_length(d, fill); }});
  if (inputs_.requests > options_.requests)
    axes.push_back({"pad requests", kDataFills, [this](Driver& d, Fill fill) { poison_pads(d, fill); }});
  axes.push_back({"accepted and tokens", kDataFills, [this](Driver& d, Fill fill) { poison_outputs(d, fill); }});
  return axes;
}

void DraftBuffers::poison_past_length(Driver& driver, Fill fill) const {
  std::vector<std::int32_t> tokens = inputs_.tokens;
  for (std::int32_t request = 0; request < inputs_.requests; ++request)
    for (std::int32_t i = inputs_.lengths[at(request)]; i < options_.drafts; ++i) {
      // The stale id is what the target would say there, and so would be accepted if it were looked at.
      const float* row = inputs_.logits.data() + (std::int64_t{request} * (1 + options_.drafts) + i) * kDraftVocab;
      tokens[at(std::int64_t{request} * options_.drafts + i)] =
          fill == Fill::stale_id ? argmax(row) : std::numeric_limits<std::int32_t>::max();
    }
  write_array(driver, tokens_, tokens);
}

void DraftBuffers::poison_pads(Driver& driver, Fill fill) const {
  const auto fill_pads = [&](const Lease& lease, std::uint64_t row_bytes) {
    const auto first = static_cast<std::uint64_t>(options_.requests);
    const std::uint64_t pads = static_cast<std::uint64_t>(inputs_.requests) - first;
    fill_bytes(driver, lease.address() + first * row_bytes, pads * row_bytes, fill);
  };
  const auto drafts = static_cast<std::uint64_t>(options_.drafts);
  fill_pads(logits_, (1 + drafts) * kDraftVocab * 4);
  fill_pads(tokens_, drafts * 4);
  fill_pads(lengths_, 4);
  if (!inputs_.probs.empty()) fill_pads(probs_, drafts * kDraftVocab * 4);
}

void DraftBuffers::poison_outputs(Driver& driver, Fill fill) const {
  for (const OutputTensor& tensor : tensors()) fill_bytes(driver, tensor.address, tensor.bytes(), fill);
}

}  // namespace refrain
