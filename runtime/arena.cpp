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

Arena::Arena(Driver& driver, BufferRegistry& registry, std::uint64_t bytes)
    : driver_(driver), registry_(registry), bytes_(aligned(bytes)) {
  check(driver_.reserve(granules(bytes_), base_), "reserving the arena");
  free_[0] = bytes_;
}

Arena::~Arena() {
  // An unloading runtime may answer with an error: the memory is gone either way.
  for (const Piece& piece : pieces_)
    if (piece.mapped) (void)driver_.unmap(base_ + piece.offset, piece.bytes);
  (void)driver_.unreserve(base_, granules(bytes_));
}

void Arena::map_up_to(std::uint64_t end) {
  const std::uint64_t mapped = pieces_.empty() ? 0 : pieces_.back().offset + pieces_.back().bytes;
  if (end <= mapped) return;
  const std::uint64_t bytes = granules(end) - mapped;
  check(driver_.map(base_ + mapped, bytes), "mapping the arena's memory");
  pieces_.push_back({mapped, bytes, true});
}

void Arena::sleep() {
  asleep_ = true;
  for (Piece& piece : pieces_) {
    if (!piece.mapped) continue;
    const Status status = driver_.unmap(base_ + piece.offset, piece.bytes);
    // A broken context may say that a call failed which it carried out, and nothing is unmapped twice.
    Buffer still_there;
    piece.mapped = status != Status::success && driver_.identify(base_ + piece.offset, still_there) == Status::success;
    check(status, "unmapping the arena's memory");
  }
}

void Arena::wake() {
  for (Piece& piece : pieces_) {
    if (piece.mapped) continue;
    check(driver_.map(base_ + piece.offset, piece.bytes), "mapping the arena's memory");
    piece.mapped = true;
  }
  asleep_ = false;
  ++wakes_;
}

std::uint64_t Arena::bytes_mapped() const noexcept {
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces_) sum += piece.mapped ? piece.bytes : 0;
  return sum;
}

Lease Arena::lease(const LeaseRequest& request) {
  assert(request.bytes > 0);
  if (asleep_)
    throw Error(ErrorKind::refused, fmt::format("leasing {} bytes for {}", request.bytes, request.name),
                "the arena sleeps and has no memory; wake it first", "arena");
  const std::uint64_t bytes = aligned(request.bytes);
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    if (hole->second < bytes) continue;
    const auto [offset, size] = *hole;
    map_up_to(offset + bytes);
    free_.erase(hole);
    if (size > bytes) free_[offset + bytes] = size - bytes;
    Buffer buffer;
    buffer.name = request.name;
    buffer.base = base_ + offset;
    buffer.bytes = request.bytes;
    buffer.role = request.role;
    buffer.dtype = request.dtype;
    buffer.reserved = request.reserved;
    const BufferRegistry::Id id = registry_.add(std::move(buffer));
    ranges_[id] = {offset, bytes, 0, true};
    return {this, id, base_ + offset};
  }
  throw Error(ErrorKind::refused, fmt::format("leasing {} bytes for {}", request.bytes, request.name),
              fmt::format("the arena has {} of {} bytes left, in pieces; reserve a larger arena",
                          bytes_ - bytes_leased(), bytes_),
              "arena");
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
  lease.reset();
  lease = this->lease({old.name, bytes, old.role, old.dtype, old.reserved});
}

LeaseHolds Arena::hold(const Graph& graph) {
  std::vector<BufferRegistry::Id> held;
  for (const Buffer& buffer : graph.buffers) {
    if (buffer.allocation == 0) continue;
    const auto range = ranges_.find(buffer.allocation - 1);
    if (range == ranges_.end()) continue;
    ++range->second.holds;
    held.push_back(range->first);
  }
  return {this, std::move(held)};
}

bool Arena::given_up(std::uint64_t allocation) const noexcept {
  const auto range = allocation == 0 ? ranges_.end() : ranges_.find(allocation - 1);
  return range != ranges_.end() && !range->second.leased;
}

std::uint64_t Arena::bytes_leased() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [id, range] : ranges_) sum += range.bytes;
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
  auto hole = free_.emplace(range.offset, range.bytes).first;
  if (const auto next = std::next(hole); next != free_.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    free_.erase(next);
  }
  if (hole != free_.begin()) {
    const auto before = std::prev(hole);
    if (before->first + before->second == hole->first) {
      before->second += hole->second;
      free_.erase(hole);
    }
  }
}

}  // namespace refrain
