#include "runtime/transfer.hpp"

namespace refrain {

void write_device(Driver& driver, Address to, std::span<const std::byte> from) {
  if (from.empty()) return;
  check(driver.copy_now({to, MemorySpace::device}, {reinterpret_cast<Address>(from.data()), MemorySpace::pageable},
                        from.size()),
        "cudaMemcpy");
}

void read_device(Driver& driver, std::span<std::byte> to, Address from) {
  if (to.empty()) return;
  check(driver.copy_now({reinterpret_cast<Address>(to.data()), MemorySpace::pageable}, {from, MemorySpace::device},
                        to.size()),
        "cudaMemcpy");
}

void settle_writes(Driver& driver) {
  check(driver.synchronize(Stream{}), "cudaStreamSynchronize");
}

}  // namespace refrain
