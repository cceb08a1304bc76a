#include "bench/result.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <thread>
#include <utility>

#include "graphs/error.hpp"

namespace refrain::bench {

Times times_of(std::vector<double> samples_us) {
  std::sort(samples_us.begin(), samples_us.end());
  return {samples_us[samples_us.size() / 2], samples_us.front(), samples_us.back()};
}

std::string line_of(const char* path, std::string_view word, std::string_view mark) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.find(word) != std::string::npos)
      if (const auto at = line.find(mark); at != std::string::npos) return line.substr(at + mark.size());
  return "unknown";
}

std::string cpu_name() {
  return line_of("/proc/cpuinfo", "model name", ": ");
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");  // pages: all of them, then the resident ones
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[sizeof "2000-01-01"] = {};
  std::tm utc{};
  gmtime_r(&now, &utc);
  return std::strftime(text, sizeof text, "%Y-%m-%d", &utc) > 0 ? text : "unknown";
}

nlohmann::ordered_json cpu_result(const std::string& topic, const std::string& commit, const std::string& command,
                                  nlohmann::ordered_json rows) {
  return {{"schema", "refrain.bench/1"},
          {"topic", topic},
          {"machine", {{"cpu", cpu_name()}, {"cores", std::thread::hardware_concurrency()}}},
          {"commit", commit.empty() ? "unknown" : commit},
          {"command", command},
          {"date", today()},
          {"rows", std::move(rows)}};
}

void write_result(const nlohmann::ordered_json& json, const std::string& path) {
  const std::string text = json.dump(2) + "\n";
  if (path.empty()) {
    std::cout << text;
    return;
  }
  std::ofstream file(path);
  if (!(file << text << std::flush)) throw Error(ErrorKind::input, "write", "the file can't be written", path);
}

}  // namespace refrain::bench
