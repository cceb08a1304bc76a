// The host's side of a step without calls: it writes the next step's inputs into a
// slot of a mapped pinned ring, launches the graph, and polls a sequence number for
// the results. Slots can't be overwritten while they are read: a slot is free again
// when its step is done, and the device says so. For one host thread, and for graphs
// launched on one stream in the order in which slots were filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/step_ring.hpp"
#include "runtime/arena.hpp"
#include "runtime/recorder.hpp"

namespace refrain {

class StepRing {
 public:
  /// `inputs` and `results` name device places, bytes, roles and dtypes; their offsets are set here. Takes pinned
  /// memory from the driver and a counter from the arena. At most kRingFields of each. Throws Error{driver, refused}.
  StepRing(Driver& driver, BufferRegistry& registry, Arena& arena, std::vector<RingField> inputs,
           std::vector<RingField> results, std::uint32_t depth);
  ~StepRing();
  StepRing(const StepRing&) = delete;
  StepRing& operator=(const StepRing&) = delete;

  /// Eager, while no step is in flight: steps are counted from 0 again, here and on the device; so once before any
  /// launch, and again when the arena's memory was lost. Declares as well. Throws Error{driver}; then call it again.
  void prepare(Recorder& recorder);
  /// What holds when a replay begins, for a capture: the slot that the host wrote, the counter of the replay before.
  void declare(Recorder& recorder) const;

  /// The step's first and last launch: all of every field.
  void record_take(Recorder& recorder) const;
  void record_give(Recorder& recorder) const;
  /// As above, of a graph that needs the first `bytes` of each field; 0 leaves a field out. As many as there are fields
  /// and one that is not 0; slots are laid out for the largest all the same.
  void record_take(Recorder& recorder, std::span<const std::uint64_t> bytes) const;
  void record_give(Recorder& recorder, std::span<const std::uint64_t> bytes) const;

  /// Every slot belongs to a step that is not done: nothing may be written or launched. Polls; no call.
  [[nodiscard]] bool full() const noexcept { return issued_ - completed() >= depth_; }
  /// Where the next step reads input `field`. Only while not full().
  [[nodiscard]] std::span<std::byte> input(std::size_t field) noexcept;
  /// After each launch of a graph with record_take and record_give in it.
  void issued() noexcept { ++issued_; }
  /// For a launch that failed: whether the step that was not issued() is done all the same, because only a later call
  /// of it failed. Final once the stream is idle.
  [[nodiscard]] bool ran_unissued() const noexcept;
  /// Launches so far.
  [[nodiscard]] std::uint64_t issued_steps() const noexcept { return issued_; }
  /// Steps whose results are there. Polls; no call.
  [[nodiscard]] std::uint64_t completed() const noexcept;
  /// Result `field` of step `step` < completed(), until step + depth is issued.
  [[nodiscard]] std::span<const std::byte> result(std::uint64_t step, std::size_t field) const noexcept;

  /// Buffer::allocation of all that a graph with the ring's ends in it names of the ring, for its StepKey.
  [[nodiscard]] std::vector<std::uint64_t> allocations() const;

 private:
  [[nodiscard]] std::byte* slot(std::uint64_t step) const noexcept;

  [[nodiscard]] bool done(std::uint64_t step) const noexcept;
  [[nodiscard]] RingView view() const noexcept;

  Driver& driver_;
  BufferRegistry& registry_;
  std::vector<RingField> inputs_, results_;
  std::uint32_t depth_;
  std::uint64_t slot_bytes_ = 0;
  Address memory_ = 0;
  BufferRegistry::Id slots_buffer_ = 0, done_buffer_ = 0;
  Lease counter_;
  std::uint64_t* done_ = nullptr;
  std::uint64_t issued_ = 0;
  mutable std::uint64_t completed_ = 0;
};

}  // namespace refrain
