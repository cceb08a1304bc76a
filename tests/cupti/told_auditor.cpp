// In place of the injected library: a shared library with its entry points, which
// hands what a program tells the auditor on to the test that loaded it.
#include "tests/cupti/told_auditor.hpp"

#include <utility>

namespace {

refrain::test::Told told{};

}  // namespace

#define REFRAIN_EXPORT extern "C" __attribute__((visibility("default")))

REFRAIN_EXPORT void tell_test(const refrain::test::Told* to) {
  told = to != nullptr ? *to : refrain::test::Told{};
}
REFRAIN_EXPORT int refrain_window_begin() {
  return told.begin != nullptr ? told.begin(told.self) : 1;
}
REFRAIN_EXPORT int refrain_window_end() {
  return told.end != nullptr ? told.end(told.self) : 1;
}
REFRAIN_EXPORT int refrain_listens() {
  return told.listens != nullptr ? told.listens(told.self) : 0;
}
REFRAIN_EXPORT int refrain_describe(const char* records, std::size_t bytes) {
  return told.describe != nullptr ? told.describe(told.self, records, bytes) : 1;
}

#undef REFRAIN_EXPORT
