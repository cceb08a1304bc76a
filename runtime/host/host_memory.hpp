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

/// The same for pages that are mapped already, readable and writable; `pages` is the start of a page. Throws
/// std::bad_alloc.
void fill_fresh(void* pages, std::uint64_t bytes);

}  // namespace refrain
