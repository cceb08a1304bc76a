// What the shared library told_auditor hands on, and to whom.
#pragma once

#include <cstddef>

namespace refrain::test {

struct Told {
  void* self = nullptr;
  int (*begin)(void* self) = nullptr;
  int (*end)(void* self) = nullptr;
  int (*listens)(void* self) = nullptr;
  int (*describe)(void* self, const char* records, std::size_t bytes) = nullptr;
};

}  // namespace refrain::test
