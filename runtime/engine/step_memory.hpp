// What changes from step to step, in device memory: the batch's tables, tokens and
// sampling parameters, as large as the limits, with the ring that brings them in and the
// results out. A step of a smaller shape uses, and moves, the front of each array.
#pragma once

#include "runtime/engine/plan.hpp"
#include "runtime/engine/step_shapes.hpp"
#include "runtime/step_ring.hpp"

namespace refrain {

/// The ring's fields, in its order; StepPlaces says what each holds.
enum class StepInput : std::uint8_t {
  rows,
  real_requests,
  token_to_req,
  query_pos,
  seq_len,
  page_table,
  tokens,
  sample_rows,
  temperature,
  top_k,
  top_p,
  seeds,
  draft_tokens,
  draft_lengths,
};
enum class StepResult : std::uint8_t { next_tokens, accepted };

class StepMemory {
 public:
  /// Takes leases of the arena for the largest of the shapes. Throws Error{driver, refused}.
  StepMemory(Driver& driver, BufferRegistry& registry, Arena& arena, const StepShapes& shapes,
             std::int32_t pages_per_request, std::uint32_t ring_depth);

  [[nodiscard]] StepPlaces places(const StepShape& shape) const;
  /// The step's first and last launch.
  void record_take(Recorder& recorder, const StepShape& shape) const;
  void record_give(Recorder& recorder, const StepShape& shape) const;

  /// Where the next step of the shape reads an input; only while the ring is not full.
  template <class T>
  [[nodiscard]] std::span<T> input(StepInput which, const StepShape& shape) {
    std::byte* bytes = ring_.input(static_cast<std::size_t>(which)).data();
    return {reinterpret_cast<T*>(bytes), input_bytes(which, shape) / sizeof(T)};
  }
  /// As StepRing::result, of a step of this shape.
  [[nodiscard]] std::span<const std::int32_t> result(StepResult which, std::uint64_t step,
                                                     const StepShape& shape) const;

  /// Whether the arrays on the device hold what step `step` gave, pads included. Blocking. Throws Error{driver}.
  [[nodiscard]] bool results_equal(Driver& driver, std::uint64_t step, const StepShape& shape) const;

  [[nodiscard]] StepRing& ring() noexcept { return ring_; }
  [[nodiscard]] std::int32_t pages_per_request() const noexcept { return pages_per_request_; }
  /// Buffer::allocation of all that a step names of it.
  [[nodiscard]] std::vector<std::uint64_t> allocations() const;

 private:
  [[nodiscard]] std::uint64_t input_bytes(StepInput which, const StepShape& shape) const;
  [[nodiscard]] std::vector<RingField> fields(const std::vector<Lease>& leases, Role role) const;
  template <class T>
  [[nodiscard]] const T* at(StepInput which) const {
    return inputs_[static_cast<std::size_t>(which)].as<T>();
  }

  BufferRegistry& registry_;
  std::int32_t pages_per_request_;
  std::vector<Lease> inputs_, results_;
  StepRing ring_;
};

/// Writes the inputs of a plan that is not stale into the ring's next slot.
class Scheduler;
void write_inputs(StepMemory& memory, const StepPlan& plan, const Scheduler& scheduler);

}  // namespace refrain
