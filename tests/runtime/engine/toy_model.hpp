// A model whose K and V are the token ids themselves: a step appends them to their pages,
// and a request's next token follows from all of its tokens, read back through its page
// table. So any mistake in paging, order or padding changes an answer. Host twin alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/engine/request.hpp"
#include "runtime/transfer.hpp"

namespace refrain::test {

inline constexpr std::int32_t kToyVocabulary = 9;
/// A prompt that begins with this id gives rows that can't be judged from kUnjudgedFrom tokens on.
inline constexpr std::int32_t kUnjudged = kToyVocabulary - 1, kUnjudgedFrom = 8;

struct ToySampling {
  float temperature = 0, top_p = 1;
  std::int32_t top_k = 0;
  std::uint64_t seed = 0, position = 0;
};
/// The language: what follows `tokens`. Without a temperature it mostly repeats what stood three tokens earlier, so
/// that lookups in the prompt are often right.
[[nodiscard]] std::int32_t toy_next(const std::vector<std::int32_t>& tokens, const ToySampling& sampling);

/// What a request must get, in plain C++ from its prompt alone.
struct ToyAnswer {
  std::vector<std::int32_t> tokens;
  Finish finish = Finish::length;
};
[[nodiscard]] ToyAnswer toy_answer(const Request& request, std::int32_t eos);

/// Mistakes of an engine, made by the model in its place: each must be seen.
enum class ToyFault : std::uint8_t { none, lost_token, wrong_page, long_length, stale_sample_row };

class ToyModel final : public Model {
 public:
  ToyModel(Arena& arena, const BufferRegistry& registry, ServingLimits limits, std::int32_t page_size);

  [[nodiscard]] std::string name() const override { return "toy"; }
  [[nodiscard]] const ServingLimits& limits() const noexcept override { return limits_; }
  [[nodiscard]] std::int32_t vocabulary() const noexcept override { return kToyVocabulary; }
  [[nodiscard]] std::int32_t page_size() const noexcept override { return page_size_; }
  [[nodiscard]] std::string refusal(const StepShape& shape) const override { return refuses ? refuses(shape) : ""; }
  [[nodiscard]] StepKey key(const StepShape& shape) const override;
  void load(Driver& driver) override;
  void prepare(Recorder& recorder, const StepShape& shape) override;
  void record(Recorder& recorder, const StepShape& shape, const StepPlaces& places) override;

  std::function<std::string(const StepShape&)> refuses;
  std::function<bool(const StepShape&)> syncs;  ///< inside the step, so that its capture fails
  ToyFault fault = ToyFault::none;
  std::function<void()> on_record;
  bool keys_alike = false;
  int loads = 0;
  std::vector<StepShape> recorded;
  std::int64_t complaints = 0;  ///< of the ops about the batch that they were given

 private:
  const BufferRegistry& registry_;
  ServingLimits limits_;
  std::int32_t page_size_;
  std::uint64_t page_bytes_;
  Lease pool_;
};

}  // namespace refrain::test
