// A driver whose graph launches run later, on a thread of its own and in their order, as
// on a device; every other call waits for those that are before it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "runtime/driver.hpp"

namespace refrain::test {

class LaterDriver final : public Driver {
 public:
  explicit LaterDriver(Driver& inner) : inner_(inner), worker_([this] { work(); }) {}
  ~LaterDriver() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override {
    std::unique_lock lock(mutex_);
    if (call.api == Api::graph_launch) {
      launches_.push_back(call);
      most_ = std::max(most_, launches_.size());
      changed_.notify_all();
      return Status::success;
    }
    changed_.wait(lock, [&] { return launches_.empty(); });
    return inner_.submit(call);
  }
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_.introspect(graph, out);
  }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }

  /// The most launches that were under way at once.
  [[nodiscard]] std::size_t most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || !launches_.empty(); });
      if (launches_.empty()) return;
      Call call = launches_.front();
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(++count_ % 3 == 0 ? 200 : 20));
      (void)inner_.submit(call);
      lock.lock();
      launches_.pop_front();
      changed_.notify_all();
    }
  }

  Driver& inner_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> launches_;
  std::size_t most_ = 0;
  std::uint64_t count_ = 0;
  bool stop_ = false;
  std::thread worker_;
};

}  // namespace refrain::test
