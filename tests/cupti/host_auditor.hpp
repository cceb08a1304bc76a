// The auditor of live processes around our own runtime, without a GPU: the calls that
// the runtime makes of the host driver reach a CallStream as CUPTI's callbacks would,
// and what the runtime says of itself goes the way that it goes to the injected
// library. What comes of a window is its recording.
#pragma once

#include <mutex>
#include <optional>

#include "audit/cupti/live_descriptions.hpp"
#include "runtime/host/host_driver.hpp"
#include "tests/cupti/told_auditor.hpp"
#include "traces/timeline_builder.hpp"

namespace refrain::test {

class HostAuditor final : public Driver {
 public:
  /// `deaf`: what the runtime says of itself is not listened to.
  explicit HostAuditor(bool deaf = false);
  ~HostAuditor() override;

  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override;
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_.introspect(graph, out);
  }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }

  /// Of the window that the runtime opened and closed.
  [[nodiscard]] Recording recording() { return builder_.take(); }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  /// What the auditor asks the driver.
  struct Answers final : LiveDriver {
    explicit Answers(HostDriver& host) : inner(host) {}
    std::optional<Buffer> identify(Address address) override;
    WalkedGraph walk(std::uint64_t graph) override;
    std::uint64_t last_node(std::uint64_t stream, bool per_thread) override;
    std::uint64_t capture_of(std::uint64_t, bool) override { return 0; }
    bool is_mapped(Address, std::uint64_t) override { return true; }
    bool on_own_stack(Address) override { return false; }
    Address caller_stack() override { return 0; }
    std::string call_site() override { return {}; }
    HostDriver& inner;
  };

  [[nodiscard]] LiveCall live(const Call& call);
  int begin();
  int end();

  HostDriver inner_;
  Answers answers_{inner_};
  const bool deaf_;
  std::mutex mutex_;
  TimelineBuilder builder_;
  LiveDescriptions descriptions_;
  std::optional<CallStream> stream_;
  std::uint64_t time_ = 0, correlation_ = 0, refused_ = 0;
};

}  // namespace refrain::test
