#include "runtime/step_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <utility>

#include "graphs/error.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kAlignment = 16;

std::uint64_t place(std::vector<RingField>& fields, std::uint64_t at) {
  for (RingField& field : fields) {
    field.offset = at;
    at += (field.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return at;
}

/// The front of each field, as many bytes as the graph needs.
template <class Args>
Args args_of(const RingView& ring, const std::vector<RingField>& fields, std::span<const std::uint64_t> bytes) {
  assert(bytes.size() == fields.size());
  Args args;
  args.ring = ring;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    assert(bytes[i] <= fields[i].bytes);
    if (bytes[i] == 0) continue;
    RingField& field = args.fields[static_cast<std::size_t>(args.count++)];
    field = fields[i];
    field.bytes = bytes[i];
  }
  return args;
}

std::vector<std::uint64_t> whole(const std::vector<RingField>& fields) {
  std::vector<std::uint64_t> bytes;
  for (const RingField& field : fields) bytes.push_back(field.bytes);
  return bytes;
}

}  // namespace

StepRing::StepRing(Driver& driver, BufferRegistry& registry, Arena& arena, std::vector<RingField> inputs,
                   std::vector<RingField> results, std::uint32_t depth)
    : driver_(driver),
      registry_(registry),
      inputs_(std::move(inputs)),
      results_(std::move(results)),
      depth_(depth),
      counter_(arena.lease({"step counter", sizeof(std::uint64_t), Role::state, Dtype::i64})) {
  const std::size_t most = std::max(inputs_.size(), results_.size());
  if (depth == 0 || inputs_.empty() || results_.empty() || most > kRingFields)
    throw Error(ErrorKind::refused, "step ring",
                fmt::format("expected a depth of 1 or more and 1 to {} inputs and results, found {}, {} and {}",
                            kRingFields, depth, inputs_.size(), results_.size()),
                "");
  slot_bytes_ = place(results_, place(inputs_, 0));
  const std::uint64_t slots = slot_bytes_ * depth_, numbers = depth_ * sizeof(std::uint64_t);
  check(driver_.allocate(slots + numbers, MemorySpace::pinned, memory_), "cudaMallocHost");
  std::memset(reinterpret_cast<void*>(memory_), 0, slots + numbers);
  done_ = reinterpret_cast<std::uint64_t*>(memory_ + slots);
  const auto buffer = [](const char* name, Address base, std::uint64_t bytes, Role role, Dtype dtype) {
    Buffer out;
    out.name = name;
    out.base = base;
    out.bytes = bytes;
    out.space = MemorySpace::pinned;
    out.dtype = dtype;
    out.role = role;
    return out;
  };
  slots_buffer_ = registry_.add(buffer("step ring", memory_, slots, Role::input, Dtype::u8));
  done_buffer_ = registry_.add(buffer("step ring's numbers", memory_ + slots, numbers, Role::state, Dtype::i64));
}

StepRing::~StepRing() {
  registry_.retire(done_buffer_);
  registry_.retire(slots_buffer_);
  (void)driver_.release(memory_, MemorySpace::pinned);
}

void StepRing::prepare(Recorder& recorder) {
  recorder.zero(counter_.address(), sizeof(std::uint64_t));
  std::fill_n(done_, depth_, std::uint64_t{0});
  issued_ = completed_ = 0;
  declare(recorder);
}

void StepRing::declare(Recorder& recorder) const {
  recorder.entry(Fact::written, memory_, slot_bytes_ * depth_, Origin::host_each_launch,
                 "the host, before every launch, in the slot that the launch reads");
  recorder.entry(Fact::written, counter_.address(), sizeof(std::uint64_t), Origin::previous_replay,
                 "the ring_give of the replay before");
}

void StepRing::record_take(Recorder& recorder) const {
  record_take(recorder, whole(inputs_));
}

void StepRing::record_give(Recorder& recorder) const {
  record_give(recorder, whole(results_));
}

void StepRing::record_take(Recorder& recorder, std::span<const std::uint64_t> bytes) const {
  recorder.launch(ring_take, args_of<RingTakeArgs>(view(), inputs_, bytes));
}

void StepRing::record_give(Recorder& recorder, std::span<const std::uint64_t> bytes) const {
  auto args = args_of<RingGiveArgs>(view(), results_, bytes);
  args.done = done_;
  recorder.launch(ring_give, args);
}

RingView StepRing::view() const noexcept {
  return {slot(0), slot_bytes_, depth_, counter_.as<std::uint64_t>()};
}

std::byte* StepRing::slot(std::uint64_t step) const noexcept {
  return reinterpret_cast<std::byte*>(memory_) + step % depth_ * slot_bytes_;
}

std::span<std::byte> StepRing::input(std::size_t field) noexcept {
  return {slot(issued_) + inputs_[field].offset, inputs_[field].bytes};
}

bool StepRing::done(std::uint64_t step) const noexcept {
  return std::atomic_ref(done_[step % depth_]).load(std::memory_order_acquire) == step + 1;
}

std::uint64_t StepRing::completed() const noexcept {
  while (completed_ < issued_ && done(completed_)) ++completed_;
  return completed_;
}

bool StepRing::ran_unissued() const noexcept {
  return done(issued_);
}

std::span<const std::byte> StepRing::result(std::uint64_t step, std::size_t field) const noexcept {
  return {slot(step) + results_[field].offset, results_[field].bytes};
}

std::vector<std::uint64_t> StepRing::allocations() const {
  return {registry_[counter_.id()].allocation, registry_[slots_buffer_].allocation, registry_[done_buffer_].allocation};
}

}  // namespace refrain
