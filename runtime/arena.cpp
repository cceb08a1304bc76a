#include "runtime/arena.hpp"

#include <fmt/format.h>

#include <cassert>

namespace refrain {
namespace {

constexpr std::uint64_t kAlignment = 256;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::uint64_t granules(std::uint64_t bytes) {
  return (bytes + Driver::kMapGranularity - 1) / Driver::kMapGranularity * Driver::kMapGranularity;
}

Address reserve(Driver& driver, std::uint64_t bytes) {
  Address base = 0;
  check(driver.reserve(bytes, base), "reserving the arena");
  return base;
}

/// What is made and used up within one replay. `unknown` may be anything.
bool fits_overlay(Role role) {
  return role == Role::workspace || role == Role::scratch || role == Role::plan;
}

}  // namespace

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    reset();
    arena_ = std::exchange(other.arena_, nullptr);
    id_ = other.id_;
    base_ = other.base_;
  }
  return *this;
}

void Lease::reset() noexcept {
  if (arena_ != nullptr) std::exchange(arena_, nullptr)->drop_lease(id_);
}

LeaseHolds& LeaseHolds::operator=(LeaseHolds&& other) noexcept {
  if (this != &other) {
    reset();
    arena_ = std::exchange(other.arena_, nullptr);
    ids_ = std::exchange(other.ids_, {});
  }
  return *this;
}

void LeaseHolds::reset() noexcept {
  if (arena_ == nullptr) return;
  for (const BufferRegistry::Id id : ids_) arena_->drop_hold(id);
  arena_ = nullptr;
  ids_.clear();
}

void LeaseHolds::require_awake() const {
  if (arena_ != nullptr && arena_->asleep())
    throw Error(ErrorKind::refused, "launching a graph", "its arena sleeps and has no memory; wake the arena first",
                "arena");
}

Arena::Arena(Driver& driver, BufferRegistry& registry, std::uint64_t bytes, Overlays overlays)
    : driver_(driver),
      registry_(registry),
      reserved_(granules(bytes) + overlays.count * granules(overlays.bytes)),
      base_(reserve(driver, reserved_)),
      own_(driver, base_, granules(bytes), 1),
      shared_(driver, base_ + granules(bytes), granules(overlays.bytes), overlays.count) {
  windows_.push_back({aligned(bytes), FreeRanges(aligned(bytes))});
  windows_.resize(1 + overlays.count, {aligned(overlays.bytes), FreeRanges(aligned(overlays.bytes))});
}

Arena::~Arena() {
  // Addresses go after the memory behind them. An unloading runtime may answer with an error: it is gone either way.
  own_.release();
  shared_.release();
  (void)driver_.unreserve(base_, reserved_);
}

void Arena::sleep() {
  asleep_ = true;
  own_.drop();
  shared_.drop();
}

void Arena::wake() {
  own_.restore();
  shared_.restore();
  asleep_ = false;
  ++wakes_;
}

void Arena::refuse_if_misplaced(const LeaseRequest& request) const {
  if (request.overlay == 0) return;
  const std::string tried = fmt::format("leasing {} in overlay {}", request.name, request.overlay);
  if (request.overlay >= windows_.size())
    throw Error(ErrorKind::refused, tried,
                fmt::format("the arena has {} overlays; make it with more", windows_.size() - 1), "arena");
  if (!fits_overlay(request.role))
    throw Error(
        ErrorKind::refused, tried,
        fmt::format("expected the role workspace, scratch or plan, found {}: graphs of other overlays write the "
                    "memory between two replays; lease it in overlay 0, or give it the role of what it is",
                    to_string(request.role)),
        "arena");
}

Lease Arena::lease(const LeaseRequest& request) {
  assert(request.bytes > 0);
  if (asleep_)
    throw Error(ErrorKind::refused, fmt::format("leasing {} bytes for {}", request.bytes, request.name),
                "the arena sleeps and has no memory; wake it first", "arena");
  refuse_if_misplaced(request);
  const std::uint64_t bytes = aligned(request.bytes);
  const Window& window = windows_[request.overlay];
  if (const auto offset = window.free.find(bytes)) return take(request, *offset, bytes);
  const std::string place = request.overlay == 0 ? "the arena" : fmt::format("overlay {}", request.overlay);
  throw Error(ErrorKind::refused, fmt::format("leasing {} bytes for {}", request.bytes, request.name),
              fmt::format("{} has {} of {} bytes left, in pieces; reserve a larger arena", place,
                          window.bytes - bytes_leased(request.overlay), window.bytes),
              "arena");
}

Lease Arena::take(const LeaseRequest& request, std::uint64_t offset, std::uint64_t bytes) {
  MappedMemory& memory = request.overlay == 0 ? own_ : shared_;
  const std::uint32_t window = request.overlay == 0 ? 0 : request.overlay - 1;
  memory.provide(window, offset + bytes);
  windows_[request.overlay].free.take(offset, bytes);
  Buffer buffer;
  buffer.name = request.name;
  buffer.base = memory.address(window) + offset;
  buffer.bytes = request.bytes;
  buffer.role = request.role;
  buffer.dtype = request.dtype;
  buffer.reserved = request.reserved;
  buffer.shared = request.overlay != 0 && windows_.size() > 2;
  const Address base = buffer.base;
  const BufferRegistry::Id id = registry_.add(std::move(buffer));
  ranges_[id] = {offset, bytes, request.overlay, 0, true};
  return {this, id, base};
}

void Arena::refuse_if_held(const Lease& lease, const char* tried) const {
  const Range& range = ranges_.at(lease.id_);
  if (range.holds == 0) return;
  throw Error(ErrorKind::refused, fmt::format("{} {}", tried, registry_[lease.id_].name),
              fmt::format("{} graph exec(s) have its address baked in; destroy them first", range.holds), "arena");
}

void Arena::release(Lease& lease) {
  refuse_if_held(lease, "releasing");
  lease.reset();
}

void Arena::grow(Lease& lease, std::uint64_t bytes) {
  refuse_if_held(lease, "growing");
  const Buffer old = registry_[lease.id_];
  const std::uint32_t overlay = ranges_.at(lease.id_).overlay;
  lease.reset();
  lease = this->lease({old.name, bytes, old.role, old.dtype, old.reserved, overlay});
}

LeaseHolds Arena::hold(const Graph& graph) {
  std::vector<BufferRegistry::Id> held;
  std::uint32_t overlay = 0;
  for (const Buffer& buffer : graph.buffers) {
    const auto range = buffer.allocation == 0 ? ranges_.end() : ranges_.find(buffer.allocation - 1);
    if (range == ranges_.end()) continue;
    held.push_back(range->first);
    const std::uint32_t other = std::exchange(overlay, range->second.overlay == 0 ? overlay : range->second.overlay);
    if (other != 0 && other != overlay)
      throw Error(
          ErrorKind::refused, fmt::format("holding the leases of graph {}", graph.name),
          fmt::format("expected leases of one overlay, found overlay {} and, with {}, overlay {}, which are the "
                      "same memory; lease all that the graph names in one",
                      other, buffer.name, overlay),
          "arena");
  }
  for (const BufferRegistry::Id id : held) ++ranges_.at(id).holds;
  return {this, std::move(held)};
}

bool Arena::given_up(std::uint64_t allocation) const noexcept {
  const auto range = allocation == 0 ? ranges_.end() : ranges_.find(allocation - 1);
  return range != ranges_.end() && !range->second.leased;
}

std::uint64_t Arena::bytes_leased(std::uint32_t overlay) const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [id, range] : ranges_)
    if (range.overlay == overlay) sum += range.bytes;
  return sum;
}

void Arena::drop_lease(BufferRegistry::Id id) noexcept {
  ranges_.at(id).leased = false;
  free_range(id);
}

void Arena::drop_hold(BufferRegistry::Id id) noexcept {
  --ranges_.at(id).holds;
  free_range(id);
}

void Arena::free_range(BufferRegistry::Id id) noexcept {
  const Range range = ranges_.at(id);
  if (range.leased || range.holds != 0) return;
  ranges_.erase(id);
  registry_.retire(id);
  windows_[range.overlay].free.give(range.offset, range.bytes);
}

}  // namespace refrain
