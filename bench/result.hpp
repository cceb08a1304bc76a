// What every bench's result is made of: times, the names of the machine's parts,
// the date, and the file. It knows neither CUDA nor the runtime.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::bench {

struct Times {
  double median_us = 0, min_us = 0, max_us = 0;
};
[[nodiscard]] Times times_of(std::vector<double> samples_us);

/// The rest of the first line of `path` that holds `word`, behind `mark`; `unknown` without one.
[[nodiscard]] std::string line_of(const char* path, std::string_view word, std::string_view mark);
[[nodiscard]] std::string cpu_name();
/// Resident bytes of this process.
[[nodiscard]] std::int64_t resident_bytes();
/// `2026-11-29`, UTC.
[[nodiscard]] std::string today();

/// The whole of a result that no GPU had a part in. An empty commit is `unknown`.
[[nodiscard]] nlohmann::ordered_json cpu_result(const std::string& topic, const std::string& commit,
                                                const std::string& command, nlohmann::ordered_json rows);

/// To the file, or to standard output when `path` is empty. Throws Error{input}.
void write_result(const nlohmann::ordered_json& json, const std::string& path);

}  // namespace refrain::bench
