// Address space of which only the touched pages cost memory: for tests whose
// offsets lie beyond 2^31.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "tests/catch.hpp"

namespace refrain::test {

/// Zero bytes until they are written.
class Reservation {
 public:
  explicit Reservation(std::size_t bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(at != MAP_FAILED);
    data_ = static_cast<std::byte*>(at);
  }
  ~Reservation() { munmap(data_, bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace refrain::test
