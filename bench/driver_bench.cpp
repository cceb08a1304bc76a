#include "bench/driver_bench.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include "graphs/error.hpp"
#include "runtime/cuda/make_cuda_driver.hpp"
#include "runtime/host/host_driver.hpp"

namespace refrain::bench {

Arguments::Arguments(int argc, char** argv, std::string program, std::initializer_list<std::string_view> names)
    : program_(std::move(program)), command_(program_) {
  std::vector<std::string_view> known(names);
  known.insert(known.end(), {"--device", "--out", "--commit"});
  if (const char* commit = std::getenv("REFRAIN_COMMIT")) values_["--commit"] = commit;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(ErrorKind::usage, name, fmt::format("expected one of {}", fmt::join(known, ", ")), program_);
    if (i + 1 == argc) throw Error(ErrorKind::usage, name, "expected a value after it", program_);
    values_[name] = argv[i + 1];
    // Of a file its name alone: where it lies is the machine's affair.
    if (name != "--out" && name != "--commit")
      command_ += fmt::format(" {} {}", name, std::filesystem::path(argv[i + 1]).filename().string());
  }
}

std::string Arguments::text(std::string_view name, std::string_view fallback) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string(fallback) : found->second;
}

std::int64_t Arguments::number(std::string_view name, std::int64_t fallback, std::int64_t least) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > INT32_MAX)
    throw Error(ErrorKind::usage, std::string(name),
                fmt::format("expected a number from {} to {}, found \"{}\"", least, INT32_MAX, text), program_);
  return value;
}

std::unique_ptr<Driver> open_driver(const Arguments& arguments) {
  const std::string device = arguments.text("--device", "cuda");
  if (device == "host") return std::make_unique<HostDriver>();
  if (device != "cuda")
    throw Error(ErrorKind::usage, "--device", fmt::format("expected cuda or host, found \"{}\"", device), "");
  if (cuda_device_present()) return make_cuda_driver();
  std::cerr << "SKIPPED: " << cuda_absent_reason() << "\n";
  return nullptr;
}

nlohmann::ordered_json driver_frame(const std::string& topic, const Arguments& arguments, const Driver& driver) {
  const DeviceInfo device = driver.device();
  return {{"schema", "refrain.bench/1"},
          {"topic", topic},
          {"machine",
           {{"gpu", device.device},
            {"driver", device.driver},
            {"cuda", device.toolkit},
            {"cpu", cpu_name()},
            {"cores", std::thread::hardware_concurrency()}}},
          {"commit", arguments.text("--commit", "unknown")},
          {"command", arguments.command()},
          {"date", today()},
          {"ceilings", nlohmann::ordered_json::object()},
          {"rows", nlohmann::ordered_json::array()}};
}

}  // namespace refrain::bench
