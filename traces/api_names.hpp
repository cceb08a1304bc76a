// The names that profilers give to calls of CUDA and HIP, runtime and driver:
// `cudaGraphLaunch_v10000`, `hipMemcpyAsync`, `cuMemAlloc_v2_ptsz`. One table says
// what each does; a name that it lacks is a call that no rule asks about.
#pragma once

#include <optional>
#include <string_view>

#include "graphs/capture_rules.hpp"

namespace refrain {

/// What the name alone leaves open.
enum class ApiForm : std::uint8_t {
  plain,
  copy,        ///< returns at once; direction and memory are those of its device record
  copy_waits,  ///< the blocking form
};

struct ApiName {
  std::string_view name;  ///< without prefix (cuda, hip, cu) and suffix (_v2, _v10000, _ptsz)
  Api api = Api::launch_kernel;
  ApiForm form = ApiForm::plain;
};

[[nodiscard]] std::optional<ApiName> find_api(std::string_view traced);

/// A driver call: one that a runtime call on the same thread may have made.
[[nodiscard]] bool is_driver_name(std::string_view traced) noexcept;

}  // namespace refrain
