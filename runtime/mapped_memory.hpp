// Physical memory behind windows of reserved addresses, which lie side by side: at the
// same offset every window shows the same bytes. It comes in pieces, as offsets are
// asked for, and is mapped only in windows that asked. It can go and come back behind
// the same addresses; what it held is lost then. It does not know who uses it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/driver.hpp"

namespace refrain {

class MappedMemory {
 public:
  /// `windows` windows of `window_bytes`, a multiple of Driver::kMapGranularity, from `base`; the addresses are the
  /// caller's, who keeps them for longer. No memory is taken.
  MappedMemory(Driver& driver, Address base, std::uint64_t window_bytes, std::uint32_t windows);
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;
  ~MappedMemory() { release(); }

  [[nodiscard]] Address address(std::uint32_t window) const noexcept { return base_ + window * window_bytes_; }
  /// Sees to it that [0, end) of the window has memory. Throws Error{driver}; then what there was is still there.
  void provide(std::uint32_t window, std::uint64_t end);
  /// Every byte goes back to the device. No launch may be using it. Throws Error{driver}; then some is gone, and both
  /// drop() and restore() may be called.
  void drop();
  /// Fresh memory wherever there was some, as drop() found it. Throws Error{driver}, as drop() does.
  void restore();

  /// For good, whatever the driver answers.
  void release() noexcept;

  /// That the device has given, once however many windows show it.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct Place {
    bool wanted = false, mapped = false;
  };
  /// One map(): it, and each alias of it, can only be unmapped whole.
  struct Piece {
    std::uint64_t offset = 0, bytes = 0;
    std::vector<Place> places;  // one a window
  };
  [[nodiscard]] Address address(std::uint32_t window, const Piece& piece) const noexcept {
    return address(window) + piece.offset;
  }
  void map(Piece& piece, std::uint32_t window);

  Driver& driver_;
  Address base_;
  std::uint64_t window_bytes_;
  std::uint32_t windows_;
  std::vector<Piece> pieces_;  // one after the other from offset 0
};

}  // namespace refrain
