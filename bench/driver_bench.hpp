// What the benches that are written against Driver share: their command line,
// the driver that it names, and the refrain.bench/1 frame. No CUDA type here; a
// bench on the host driver is a check of the bench, not a measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "bench/result.hpp"
#include "runtime/driver.hpp"

namespace refrain::bench {

/// Options with a value each: --out, --commit, --device, and those that the bench names.
class Arguments {
 public:
  /// Throws Error{usage}.
  Arguments(int argc, char** argv, std::string program, std::initializer_list<std::string_view> names);

  [[nodiscard]] std::string text(std::string_view name, std::string_view fallback) const;
  /// Throws Error{usage} for what is no number from `least` on.
  [[nodiscard]] std::int64_t number(std::string_view name, std::int64_t fallback, std::int64_t least) const;
  /// The program with its options, but for where the result goes.
  [[nodiscard]] const std::string& command() const noexcept { return command_; }

 private:
  std::string program_, command_;
  std::map<std::string, std::string, std::less<>> values_;
};

/// What --device names: `cuda` (the default) or `host`. Null, after saying so, without a GPU: main then returns
/// kSkipped. Throws Error{usage}.
[[nodiscard]] std::unique_ptr<Driver> open_driver(const Arguments& arguments);
inline constexpr int kSkipped = 77;

/// Rows are the caller's.
[[nodiscard]] nlohmann::ordered_json driver_frame(const std::string& topic, const Arguments& arguments,
                                                  const Driver& driver);

}  // namespace refrain::bench
