// The answers of the CUDA driver that the process uses. Made at the first callback,
// when the driver is up; it makes no context.
#pragma once

#include "audit/cupti/live_driver.hpp"
#include "graphs/cuda/driver_calls.hpp"
#include "traces/sink.hpp"

namespace refrain {

class CudaLiveDriver final : public LiveDriver {
 public:
  /// Throws Error{driver} where the driver lacks a call that is needed.
  CudaLiveDriver();

  [[nodiscard]] std::optional<Buffer> identify(Address address) override;
  [[nodiscard]] WalkedGraph walk(std::uint64_t graph) override;
  [[nodiscard]] std::uint64_t last_node(std::uint64_t stream, bool per_thread) override {
    return state_of(stream, per_thread).last_node;
  }
  [[nodiscard]] std::uint64_t capture_of(std::uint64_t stream, bool per_thread) override {
    return state_of(stream, per_thread).capture;
  }
  [[nodiscard]] bool is_mapped(Address address, std::uint64_t bytes) override;
  [[nodiscard]] bool on_own_stack(Address address) override;
  [[nodiscard]] Address caller_stack() override;
  [[nodiscard]] std::string call_site() override;

  [[nodiscard]] DeviceLine device() const;

 private:
  struct CaptureState {
    std::uint64_t capture = 0, last_node = 0;
  };
  [[nodiscard]] CaptureState state_of(std::uint64_t stream, bool per_thread) const;

  DriverCalls calls_;
  PFN_cuStreamGetCaptureInfo_v12030 capture_info_ = nullptr;
};

}  // namespace refrain
