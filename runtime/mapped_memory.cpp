#include "runtime/mapped_memory.hpp"

#include <algorithm>

namespace refrain {

MappedMemory::MappedMemory(Driver& driver, Address base, std::uint64_t window_bytes, std::uint32_t windows)
    : driver_(driver), base_(base), window_bytes_(window_bytes), windows_(windows) {}

void MappedMemory::release() noexcept {
  for (const Piece& piece : pieces_)
    for (std::uint32_t window = 0; window < windows_; ++window)
      if (piece.places[window].mapped) (void)driver_.unmap(address(window, piece), piece.bytes);
  pieces_.clear();
}

void MappedMemory::map(Piece& piece, std::uint32_t window) {
  const auto shown =
      std::find_if(piece.places.begin(), piece.places.end(), [](const Place& place) { return place.mapped; });
  const Address here = address(window, piece);
  if (shown == piece.places.end())
    check(driver_.map(here, piece.bytes), "mapping the arena's memory");
  else
    check(driver_.alias(here, piece.bytes, address(static_cast<std::uint32_t>(shown - piece.places.begin()), piece)),
          "mapping the arena's memory in one more overlay");
  piece.places[window] = {true, true};
}

void MappedMemory::provide(std::uint32_t window, std::uint64_t end) {
  std::uint64_t have = 0;
  for (Piece& piece : pieces_) {
    if (piece.offset >= end) return;
    if (!piece.places[window].mapped) map(piece, window);
    have = piece.offset + piece.bytes;
  }
  if (end <= have) return;
  const std::uint64_t granules = (end + Driver::kMapGranularity - 1) / Driver::kMapGranularity;
  Piece piece{have, granules * Driver::kMapGranularity - have, std::vector<Place>(windows_)};
  map(piece, window);
  pieces_.push_back(std::move(piece));
}

void MappedMemory::drop() {
  for (Piece& piece : pieces_)
    for (std::uint32_t window = 0; window < windows_; ++window) {
      if (!piece.places[window].mapped) continue;
      const Status status = driver_.unmap(address(window, piece), piece.bytes);
      // A broken context may say that a call failed which it carried out, and nothing is unmapped twice.
      Buffer still_there;
      piece.places[window].mapped =
          status != Status::success && driver_.identify(address(window, piece), still_there) == Status::success;
      check(status, "unmapping the arena's memory");
    }
}

void MappedMemory::restore() {
  for (Piece& piece : pieces_)
    for (std::uint32_t window = 0; window < windows_; ++window)
      if (piece.places[window].wanted && !piece.places[window].mapped) map(piece, window);
}

std::uint64_t MappedMemory::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces_)
    if (std::any_of(piece.places.begin(), piece.places.end(), [](const Place& place) { return place.mapped; }))
      sum += piece.bytes;
  return sum;
}

}  // namespace refrain
