// A driver that keeps what a profiler would see: the path and payload of each
// range, `step/bucket 8`, in the order in which they begin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/driver.hpp"

namespace refrain::test {

class ShownDriver final : public Driver {
 public:
  explicit ShownDriver(Driver& inner) : inner_(inner) {}

  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override { return inner_.submit(call); }
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_.introspect(graph, out);
  }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }
  void begin_range(const char* name, std::uint64_t payload) noexcept override {
    open_.emplace_back(name);
    std::string path;
    for (const std::string& part : open_) path += (path.empty() ? "" : "/") + part;
    shown.push_back(path + " " + std::to_string(payload));
  }
  void end_range() noexcept override { open_.pop_back(); }

  std::vector<std::string> shown;

 private:
  Driver& inner_;
  std::vector<std::string> open_;
};

}  // namespace refrain::test
