// From a plan to the arrays that a step reads, in the ring's next slot.
#include <algorithm>
#include <cassert>

#include "runtime/engine/scheduler.hpp"
#include "runtime/engine/step_memory.hpp"

namespace refrain {
namespace {

class Writer {
 public:
  Writer(StepMemory& memory, const StepPlan& plan)
      : plan_(plan),
        token_to_req_(memory.input<std::int32_t>(StepInput::token_to_req, plan.shape)),
        query_pos_(memory.input<std::int64_t>(StepInput::query_pos, plan.shape)),
        tokens_(memory.input<std::int32_t>(StepInput::tokens, plan.shape)),
        seq_len_(memory.input<std::int32_t>(StepInput::seq_len, plan.shape)),
        page_table_(memory.input<std::int32_t>(StepInput::page_table, plan.shape)),
        sample_rows_(memory.input<std::int32_t>(StepInput::sample_rows, plan.shape)),
        temperature_(memory.input<float>(StepInput::temperature, plan.shape)),
        top_k_(memory.input<std::int32_t>(StepInput::top_k, plan.shape)),
        top_p_(memory.input<float>(StepInput::top_p, plan.shape)),
        seeds_(memory.input<std::uint64_t>(StepInput::seeds, plan.shape)),
        draft_tokens_(memory.input<std::int32_t>(StepInput::draft_tokens, plan.shape)),
        draft_lengths_(memory.input<std::int32_t>(StepInput::draft_lengths, plan.shape)) {
    memory.input<std::int32_t>(StepInput::rows, plan.shape)[0] = plan.real_rows();
    memory.input<std::int32_t>(StepInput::real_requests, plan.shape)[0] = static_cast<std::int32_t>(plan.parts.size());
  }

  /// What pad rows and pad requests hold: nobody's, nowhere, no page.
  void pads() {
    std::fill(token_to_req_.begin(), token_to_req_.end(), -1);
    std::fill(query_pos_.begin(), query_pos_.end(), -1);
    std::fill(page_table_.begin(), page_table_.end(), -1);
    std::fill(sample_rows_.begin(), sample_rows_.end(), -1);
    std::fill(top_p_.begin(), top_p_.end(), 1.0f);
    std::fill(temperature_.begin(), temperature_.end(), 0.0f);
    for (const auto ids : {tokens_, seq_len_, top_k_, draft_tokens_, draft_lengths_})
      std::fill(ids.begin(), ids.end(), 0);
    std::fill(seeds_.begin(), seeds_.end(), std::uint64_t{0});
  }

  void request(std::size_t at, const PlanPart& part, const Sequence& sequence) {
    const std::size_t width = page_table_.size() / seq_len_.size();
    std::copy(sequence.pages.begin(), sequence.pages.end(),
              page_table_.begin() + static_cast<std::ptrdiff_t>(at * width));
    seq_len_[at] = part.first + part.rows();
    temperature_[at] = sequence.request.temperature;
    top_k_[at] = sequence.request.top_k;
    top_p_[at] = sequence.request.top_p;
    seeds_[2 * at] = sequence.request.seed;
    seeds_[2 * at + 1] = static_cast<std::uint64_t>(part.first) + static_cast<std::uint64_t>(part.tokens);
    if (plan_.shape.phase == Phase::verify) {
      const auto most = static_cast<std::size_t>(plan_.shape.query_length - 1);
      std::copy(part.drafts.begin(), part.drafts.end(), draft_tokens_.begin() + static_cast<std::ptrdiff_t>(at * most));
      draft_lengths_[at] = static_cast<std::int32_t>(part.drafts.size());
    }
  }

  /// The rows of a request; in a verify step all have as many, and those past its draft go on counting: the length
  /// stops before them.
  void rows(std::size_t at, const PlanPart& part, const Sequence& sequence) {
    const std::int32_t count = plan_.shape.phase == Phase::verify ? plan_.shape.query_length : part.rows();
    for (std::int32_t i = 0; i < count; ++i) {
      const std::size_t row = next_row_++;
      token_to_req_[row] = static_cast<std::int32_t>(at);
      query_pos_[row] = std::int64_t{part.first} + i;
      if (i < part.tokens)
        tokens_[row] = sequence.tokens[static_cast<std::size_t>(part.first) + static_cast<std::size_t>(i)];
      else if (i < part.rows())
        tokens_[row] = part.drafts[static_cast<std::size_t>(i - part.tokens)];
    }
    if (plan_.shape.phase == Phase::prefill && part.gives) sample_rows_[at] = static_cast<std::int32_t>(next_row_) - 1;
  }

 private:
  const StepPlan& plan_;
  std::span<std::int32_t> token_to_req_;
  std::span<std::int64_t> query_pos_;
  std::span<std::int32_t> tokens_, seq_len_, page_table_, sample_rows_;
  std::span<float> temperature_;
  std::span<std::int32_t> top_k_;
  std::span<float> top_p_;
  std::span<std::uint64_t> seeds_;
  std::span<std::int32_t> draft_tokens_, draft_lengths_;
  std::size_t next_row_ = 0;
};

}  // namespace

void write_inputs(StepMemory& memory, const StepPlan& plan, const Scheduler& scheduler) {
  Writer writer(memory, plan);
  writer.pads();
  for (std::size_t at = 0; at < plan.parts.size(); ++at) {
    const Sequence* sequence = scheduler.find(plan.parts[at].id);
    assert(sequence != nullptr && sequence->epoch == plan.parts[at].epoch);
    writer.request(at, plan.parts[at], *sequence);
    writer.rows(at, plan.parts[at], *sequence);
  }
}

}  // namespace refrain
