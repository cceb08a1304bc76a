// Memory of the host driver: every byte 0xFF, as fresh device memory may hold
// anything and 0xFF (NaN in every format) makes a read of it show. A large block
// costs memory only where it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace refrain {

/// Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<std::byte[]> take_host_memory(std::uint64_t bytes);

}  // namespace refrain
