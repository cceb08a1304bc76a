// How far the reading of one file is, for whoever shows it. Readers tell it now and
// then, in whatever they count by; without a callback they count nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace refrain {

/// Bytes of the file as it lies on the disk, or rows of its tables. `total` is never 0; `done` rises, and may pass it
/// where the file said less than it holds.
using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Tells each whole percent once, from 1 to 99: a small file is read before there is anything to tell.
[[nodiscard]] inline ReadProgress by_percent(std::function<void(unsigned percent)> tell) {
  return [tell = std::move(tell), told = 0U](std::uint64_t done, std::uint64_t total) mutable {
    const auto percent = static_cast<unsigned>(100.0 * static_cast<double>(done) / static_cast<double>(total));
    if (done >= total || percent <= told || percent > 99) return;
    tell(told = percent);
  };
}

}  // namespace refrain
