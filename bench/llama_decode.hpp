// One decode step of a Llama-shaped model: the model in an arena of its own, weights and
// KV pages filled with random values on the device, inputs that stay. Its graphs come
// from the runtime's own capture and are audited before they may run. It measures nothing.
#pragma once

#include "bench/gpu_bench.hpp"
#include "runtime/judged_capture.hpp"
#include "runtime/model/llama.hpp"
#include "runtime/owned_stream.hpp"

namespace refrain::bench {

/// Rows of so many tokens each, the one of this step among them.
struct DecodeShape {
  std::int32_t batch = 1, context = 1024;
};

class LlamaDecode {
 public:
  struct Step {
    Graph graph;
    GraphExec exec;
  };

  /// Throws Error{driver, refused}.
  LlamaDecode(Driver& driver, const LlamaShape& shape, const DecodeShape& decode);
  LlamaDecode(const LlamaDecode&) = delete;
  LlamaDecode& operator=(const LlamaDecode&) = delete;

  /// `early`: kernels that wait on the device start early. Throws Error{refused} with what the audit has against it.
  [[nodiscard]] Step capture(bool early);
  void launch(Step& step) { step.exec.launch(stream_); }
  [[nodiscard]] cudaStream_t stream() const { return raw_stream_; }
  /// The step gave every row a token. Throws Error{driver} where it did not: a time of wrong numbers is worth nothing.
  void require_tokens();

 private:
  void fill_weights();
  void place_inputs();

  Driver& driver_;
  LlamaShape shape_;
  DecodeShape decode_;
  ServingLimits limits_;
  SequenceClock clock_;
  BufferRegistry registry_{clock_};
  Arena arena_;
  LlamaModel model_;
  OwnedStream stream_{driver_};
  cudaStream_t raw_stream_ = nullptr;
  std::vector<Lease> inputs_;
  Lease next_;
  StepPlaces places_;
};

}  // namespace refrain::bench
