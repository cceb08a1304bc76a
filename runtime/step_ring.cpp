#include "runtime/step_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
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

template <class Args>
Args args_of(const RingView& ring, const std::vector<RingField>& fields) {
  Args args;
  args.ring = ring;
  std::copy(fields.begin(), fields.end(), args.fields.begin());
  args.count = static_cast<std::int32_t>(fields.size());
  return args;
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

void StepRing::prepare(Recorder& recorder) const {
  recorder.zero(counter_.address(), sizeof(std::uint64_t));
  recorder.entry(Fact::written, memory_, slot_bytes_ * depth_, Origin::host_each_launch,
                 "the host, before every launch, in the slot that the launch reads");
  recorder.entry(Fact::written, counter_.address(), sizeof(std::uint64_t), Origin::previous_replay,
                 "the ring_give of the replay before");
}

void StepRing::record_take(Recorder& recorder) const {
  const RingView ring{slot(0), slot_bytes_, depth_, counter_.as<std::uint64_t>()};
  recorder.launch(ring_take, args_of<RingTakeArgs>(ring, inputs_));
}

void StepRing::record_give(Recorder& recorder) const {
  const RingView ring{slot(0), slot_bytes_, depth_, counter_.as<std::uint64_t>()};
  auto args = args_of<RingGiveArgs>(ring, results_);
  args.done = done_;
  recorder.launch(ring_give, args);
}

std::byte* StepRing::slot(std::uint64_t step) const noexcept {
  return reinterpret_cast<std::byte*>(memory_) + step % depth_ * slot_bytes_;
}

std::span<std::byte> StepRing::input(std::size_t field) noexcept {
  return {slot(issued_) + inputs_[field].offset, inputs_[field].bytes};
}

std::uint64_t StepRing::completed() const noexcept {
  while (completed_ < issued_ &&
         std::atomic_ref(done_[completed_ % depth_]).load(std::memory_order_acquire) == completed_ + 1)
    ++completed_;
  return completed_;
}

std::span<const std::byte> StepRing::result(std::uint64_t step, std::size_t field) const noexcept {
  return {slot(step) + results_[field].offset, results_[field].bytes};
}

}  // namespace refrain
