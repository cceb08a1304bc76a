// A language model as the engine sees it: weights of its own, KV memory for numbered
// pages, and steps that it records. The engine owns what changes from step to step (the
// batch's tables, tokens, sampling parameters) and hands out the pages; the model says
// which shapes it admits and what it would take. Invariant: what a real row gives depends
// on its own request alone, on pages that the request owns, and on no pad row.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/batch_view.hpp"
#include "runtime/recorder.hpp"
#include "runtime/step_key.hpp"

namespace refrain {

/// The largest shapes that a server will ask for. Plain values; the model is made for them.
struct ServingLimits {
  std::int32_t context = 2048;        ///< tokens of one request, prompt and answer together
  std::int32_t pages = 0;             ///< of the KV pool, the null block among them
  std::int32_t decode_rows = 64;      ///< requests in one decode step
  std::int32_t prefill_tokens = 256;  ///< rows of one prefill chunk
  std::int32_t prefill_requests = 8;  ///< requests that may share one chunk
  std::int32_t verify_requests = 0;   ///< requests in one draft verification; 0: no drafts
  std::int32_t drafts = 0;            ///< K, the most drafted tokens of a request
};

/// One shape to capture. decode: a row a request. prefill: `rows` tokens of up to `requests` requests. verify: 1 + K
/// rows a request, request-major.
struct StepShape {
  Phase phase = Phase::decode;
  std::int32_t rows = 1;
  std::int32_t requests = 1;
  std::int32_t query_length = 1;  ///< 1 + K of a verify step, else 1
};

/// Device memory that the engine owns, as large as the limits; a step of a smaller shape uses the front of each array.
/// All of it but the outputs is written inside the step, by its first op, before the model's part begins.
struct StepPlaces {
  BatchView batch;                              ///< bucket and requests are the shape's; [requests, pages_per_request]
  const std::int32_t* tokens = nullptr;         ///< [rows]: ids to embed
  const std::int32_t* real_requests = nullptr;  ///< [1]: requests past it are pads
  const std::int32_t* sample_rows = nullptr;    ///< prefill, [requests]: the row whose logits give the request's next
                                                ///< token; -1: its prompt does not end in this chunk
  const float* temperature = nullptr;           ///< [requests]; 0 is argmax
  const std::int32_t* top_k = nullptr;          ///< [requests]
  const float* top_p = nullptr;                 ///< [requests]
  const std::uint64_t* seeds = nullptr;         ///< [requests, 2]: the request's seed, and the position of the token
                                                ///< that is drawn
  const std::int32_t* draft_tokens = nullptr;   ///< verify, [requests, K]
  const std::int32_t* draft_lengths = nullptr;  ///< verify, [requests]

  std::int32_t* next_tokens =
      nullptr;                       ///< out: [requests]; verify [requests, 1 + K]: accepted drafts, the next, then -1
  std::int32_t* accepted = nullptr;  ///< out, verify: [requests]
};

class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual const ServingLimits& limits() const noexcept = 0;
  [[nodiscard]] virtual std::int32_t vocabulary() const noexcept = 0;
  /// Tokens a page.
  [[nodiscard]] virtual std::int32_t page_size() const noexcept = 0;

  /// Why steps of this shape are refused, in one line; empty when they are admitted.
  [[nodiscard]] virtual std::string refusal(const StepShape& shape) const = 0;
  /// Everything of the model that is baked into the shape's graph. The engine adds its own leases.
  [[nodiscard]] virtual StepKey key(const StepShape& shape) const = 0;

  /// Writes weights, and what memory must hold before the first step, blocking; again after Arena::wake(). Throws
  /// Error{driver}.
  virtual void load(Driver& driver) = 0;
  /// Eager, before each capture of the shape and before its first eager run, harmless when it runs again: loads what
  /// may not be loaded in a capture, and declares what holds when a replay begins. Throws Error{driver}.
  virtual void prepare(Recorder& recorder, const StepShape& shape) = 0;
  /// The step, from `places.tokens` to `places.next_tokens`: K and V of every real row are appended to its request's
  /// pages. Every element of the outputs is written; a pad request and a row that can't be judged give -1.
  virtual void record(Recorder& recorder, const StepShape& shape, const StepPlaces& places) = 0;
};

}  // namespace refrain
