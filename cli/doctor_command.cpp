// refrain doctor: what is there, what is missing, and what that disables.
#include <fmt/format.h>
#include <zlib.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/device.hpp"
#include "cli/inject_library.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

struct DoctorFlags {
  Format format = Format::text;
};

struct Finding {
  std::string name;
  bool there;
  std::string detail;
  std::string disables;  ///< empty when it is there
};

std::vector<Finding> examine() {
  const DeviceProbe cuda = probe_cuda();
  const InjectLibrary live = find_inject_library();
  const int json[] = {NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH};
  std::vector<Finding> found = {
      {"host driver", true, "captures and replays with host twins", ""},
      {"CUDA build", cuda.built, cuda.built ? "compiled in" : "this build has no CUDA parts",
       "run and verify --device cuda"},
      {"GPU", cuda.present, cuda.detail, "run and verify --device cuda"},
      {"live auditor", live.missing.empty(), live.missing.empty() ? live.path : live.missing,
       "audit -- CMD and record -- CMD"},
      {"zlib", true, zlibVersion(), ""},
      {"nlohmann-json", true, fmt::format("{}.{}.{}", json[0], json[1], json[2]), ""},
      {"fmt", true, fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100), ""},
  };
  if (cuda.present)
    found.insert(found.begin() + 3, {"kernels", cuda.code != 0, describe_code(cuda), "run and verify --device cuda"});
  return found;
}

int run(const DoctorFlags& flags) {
  const std::vector<Finding> found = examine();
  if (flags.format == Format::json) {
    Json list = Json::array();
    for (const Finding& f : found)
      list.push_back(
          {{"name", f.name}, {"there", f.there}, {"detail", f.detail}, {"disables", f.there ? "" : f.disables}});
    fmt::print("{}\n", Json{{"schema", "refrain.doctor/1"}, {"parts", list}}.dump(2));
    return kExitClean;
  }
  for (const Finding& f : found)
    fmt::print("{:<8} {:<14} {}{}\n", f.there ? "ok" : "missing", f.name, f.detail,
               f.there || f.disables.empty() ? "" : fmt::format("; without it no {}", f.disables));
  return kExitClean;
}

}  // namespace

std::function<int()> declare_doctor(Options app) {
  auto flags = std::make_shared<DoctorFlags>();
  add_format(app, flags->format);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
