// When the auditor listens. Signals and timers only ask; the change itself happens
// where it may: the opening on a thread of the auditor's or the program's own, the
// closing at the exit of an API call, because only there may CUPTI be finalized. The
// asking is safe in a signal handler and from any thread; the rest needs one caller
// at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include "audit/cupti/live_settings.hpp"

namespace refrain {

/// `off`: steps aside for good. `armed`: waits for its beginning, with nothing attached. `closing`: the next exit of
/// a call ends it. `closed`: the recording is whole; a window may begin again.
enum class WindowState : std::uint8_t { off, armed, open, closing, closed };

class Window {
 public:
  explicit Window(const LiveSettings& settings) : settings_(settings) {}

  [[nodiscard]] WindowState state() const noexcept { return state_.load(std::memory_order_relaxed); }
  /// It may be opened now: it waits, or the one before is closed.
  [[nodiscard]] bool may_open() const noexcept {
    return state() == WindowState::armed || state() == WindowState::closed;
  }

  /// What was attached; the limits count from here.
  void opened(std::uint64_t now_ns) noexcept {
    opened_ns_ = now_ns;
    launches_ = 0;
    state_ = WindowState::open;
  }
  void ask_close() noexcept {
    WindowState open = WindowState::open;
    state_.compare_exchange_strong(open, WindowState::closing);
  }
  /// Nothing is attached any more.
  void closed() noexcept { state_ = WindowState::closed; }
  void step_aside() noexcept { state_ = WindowState::off; }

  void count_launch() noexcept { ++launches_; }
  /// Asked at the exit of every call: it is time to finalize.
  [[nodiscard]] bool must_close(std::uint64_t now_ns) noexcept;

 private:
  const LiveSettings settings_;
  std::atomic<WindowState> state_{WindowState::armed};
  std::uint64_t opened_ns_ = 0;
  std::atomic<std::uint64_t> launches_{0};
};

}  // namespace refrain
