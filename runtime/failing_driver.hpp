// A driver that fails one call: the N-th. What gives something back (free,
// destroy, end of a capture) is carried out all the same and then said to have
// failed, as a broken context does: so nothing that still lives is the fault of
// the caller. For tests that try every N.
#pragma once

#include <cstdint>

#include "runtime/driver.hpp"

namespace refrain {

class FailingDriver final : public Driver {
 public:
  /// Calls count from 1; 0 fails none. `status` is what the failed call returns.
  FailingDriver(Driver& inner, std::uint64_t fail_at, Status status = Status::memory_allocation)
      : inner_(inner), fail_at_(fail_at), status_(status) {}

  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override;
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override;
  /// A question, not a call: never fails on request, since its answer "unknown" is no failure.
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }
  void begin_range(const char* name, std::uint64_t payload) noexcept override { inner_.begin_range(name, payload); }
  void end_range() noexcept override { inner_.end_range(); }

  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  [[nodiscard]] bool failed() const noexcept { return fail_at_ != 0 && calls_ >= fail_at_; }

 private:
  Driver& inner_;
  std::uint64_t fail_at_;
  Status status_;
  std::uint64_t calls_ = 0;
};

}  // namespace refrain
