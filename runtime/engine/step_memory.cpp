#include "runtime/engine/step_memory.hpp"

#include <algorithm>
#include <array>

#include "runtime/transfer.hpp"

namespace refrain {
namespace {

/// How many elements a step of a shape has of an array; 0: it has none.
using Count = std::int64_t (*)(const StepShape& shape, std::int32_t pages_per_request);

struct Array {
  const char* name;
  Dtype dtype;
  Count count;
};

std::int64_t one(const StepShape&, std::int32_t) {
  return 1;
}
std::int64_t a_row(const StepShape& s, std::int32_t) {
  return s.rows;
}
std::int64_t a_request(const StepShape& s, std::int32_t) {
  return s.requests;
}
std::int64_t two_a_request(const StepShape& s, std::int32_t) {
  return 2 * std::int64_t{s.requests};
}
std::int64_t table(const StepShape& s, std::int32_t pages_per_request) {
  return std::int64_t{s.requests} * pages_per_request;
}
std::int64_t prompt_ends(const StepShape& s, std::int32_t) {
  return s.phase == Phase::prefill ? s.requests : 0;
}
std::int64_t drafts(const StepShape& s, std::int32_t) {
  return s.phase == Phase::verify ? std::int64_t{s.requests} * (s.query_length - 1) : 0;
}
std::int64_t verified(const StepShape& s, std::int32_t) {
  return s.phase == Phase::verify ? s.requests : 0;
}
std::int64_t next_tokens(const StepShape& s, std::int32_t) {
  return s.phase == Phase::verify ? s.rows : s.requests;
}

/// In the order of StepInput.
constexpr std::array kInputs = {
    Array{"real rows", Dtype::i32, one},           Array{"real requests", Dtype::i32, one},
    Array{"token_to_req", Dtype::i32, a_row},      Array{"query_pos", Dtype::i64, a_row},
    Array{"seq_len", Dtype::i32, a_request},       Array{"page_table", Dtype::i32, table},
    Array{"token ids", Dtype::i32, a_row},         Array{"sample rows", Dtype::i32, prompt_ends},
    Array{"temperatures", Dtype::fp32, a_request}, Array{"top_k", Dtype::i32, a_request},
    Array{"top_p", Dtype::fp32, a_request},        Array{"seeds", Dtype::i64, two_a_request},
    Array{"draft tokens", Dtype::i32, drafts},     Array{"draft lengths", Dtype::i32, verified},
};
/// In the order of StepResult.
constexpr std::array kResults = {
    Array{"next tokens", Dtype::i32, next_tokens},
    Array{"accepted drafts", Dtype::i32, verified},
};

std::uint64_t bytes_of(const Array& array, const StepShape& shape, std::int32_t pages_per_request) {
  return static_cast<std::uint64_t>(array.count(shape, pages_per_request)) * dtype_bytes(array.dtype);
}

template <std::size_t N>
std::vector<std::uint64_t> prefixes(const std::array<Array, N>& arrays, const StepShape& shape,
                                    std::int32_t pages_per_request) {
  std::vector<std::uint64_t> bytes;
  for (const Array& array : arrays) bytes.push_back(bytes_of(array, shape, pages_per_request));
  return bytes;
}

/// Each as large as the largest of the shapes needs it; an array that none needs has one element all the same.
template <std::size_t N>
std::vector<Lease> lease_all(Arena& arena, const std::array<Array, N>& arrays, Role role, const StepShapes& shapes,
                             std::int32_t pages_per_request) {
  std::vector<Lease> leases;
  for (const Array& array : arrays) {
    std::uint64_t bytes = dtype_bytes(array.dtype);
    for (const StepShape& shape : shapes.all()) bytes = std::max(bytes, bytes_of(array, shape, pages_per_request));
    leases.push_back(arena.lease({array.name, bytes, role, array.dtype}));
  }
  return leases;
}

}  // namespace

// Results are no outputs of the graph: what is read after it is the ring's slot, and of the array no more than the
// front that ring_give copies, which must be written in the same replay.
StepMemory::StepMemory(Driver& driver, BufferRegistry& registry, Arena& arena, const StepShapes& shapes,
                       std::int32_t pages_per_request, std::uint32_t ring_depth)
    : registry_(registry),
      pages_per_request_(pages_per_request),
      inputs_(lease_all(arena, kInputs, Role::input, shapes, pages_per_request)),
      results_(lease_all(arena, kResults, Role::workspace, shapes, pages_per_request)),
      ring_(driver, registry, arena, fields(inputs_, Role::input), fields(results_, Role::workspace), ring_depth) {}

std::vector<RingField> StepMemory::fields(const std::vector<Lease>& leases, Role role) const {
  std::vector<RingField> out;
  for (const Lease& lease : leases) {
    const Buffer& buffer = registry_[lease.id()];
    out.push_back({lease.as<std::byte>(), 0, buffer.bytes, role, buffer.dtype});
  }
  return out;
}

std::uint64_t StepMemory::input_bytes(StepInput which, const StepShape& shape) const {
  return bytes_of(kInputs[static_cast<std::size_t>(which)], shape, pages_per_request_);
}

StepPlaces StepMemory::places(const StepShape& shape) const {
  StepPlaces p;
  p.batch = {at<std::int32_t>(StepInput::rows),
             at<std::int32_t>(StepInput::token_to_req),
             at<std::int64_t>(StepInput::query_pos),
             at<std::int32_t>(StepInput::seq_len),
             at<std::int32_t>(StepInput::page_table),
             shape.rows,
             shape.requests,
             pages_per_request_};
  p.tokens = at<std::int32_t>(StepInput::tokens);
  p.real_requests = at<std::int32_t>(StepInput::real_requests);
  p.temperature = at<float>(StepInput::temperature);
  p.top_k = at<std::int32_t>(StepInput::top_k);
  p.top_p = at<float>(StepInput::top_p);
  p.seeds = at<std::uint64_t>(StepInput::seeds);
  if (shape.phase == Phase::prefill) p.sample_rows = at<std::int32_t>(StepInput::sample_rows);
  p.next_tokens = results_[static_cast<std::size_t>(StepResult::next_tokens)].as<std::int32_t>();
  if (shape.phase != Phase::verify) return p;
  p.draft_tokens = at<std::int32_t>(StepInput::draft_tokens);
  p.draft_lengths = at<std::int32_t>(StepInput::draft_lengths);
  p.accepted = results_[static_cast<std::size_t>(StepResult::accepted)].as<std::int32_t>();
  return p;
}

void StepMemory::record_take(Recorder& recorder, const StepShape& shape) const {
  ring_.record_take(recorder, prefixes(kInputs, shape, pages_per_request_));
}

void StepMemory::record_give(Recorder& recorder, const StepShape& shape) const {
  ring_.record_give(recorder, prefixes(kResults, shape, pages_per_request_));
}

std::span<const std::int32_t> StepMemory::result(StepResult which, std::uint64_t step, const StepShape& shape) const {
  const auto at = static_cast<std::size_t>(which);
  const std::span<const std::byte> bytes = ring_.result(step, at);
  return {reinterpret_cast<const std::int32_t*>(bytes.data()),
          bytes_of(kResults[at], shape, pages_per_request_) / sizeof(std::int32_t)};
}

bool StepMemory::results_equal(Driver& driver, std::uint64_t step, const StepShape& shape) const {
  for (const StepResult which : {StepResult::next_tokens, StepResult::accepted}) {
    const std::span<const std::int32_t> given = result(which, step, shape);
    std::vector<std::int32_t> now(given.size());
    read_device(driver, std::as_writable_bytes(std::span(now)), results_[static_cast<std::size_t>(which)].address());
    if (!std::equal(now.begin(), now.end(), given.begin())) return false;
  }
  return true;
}

std::vector<std::uint64_t> StepMemory::allocations() const {
  std::vector<std::uint64_t> all = ring_.allocations();
  for (const auto* leases : {&inputs_, &results_})
    for (const Lease& lease : *leases) all.push_back(registry_[lease.id()].allocation);
  return all;
}

}  // namespace refrain
