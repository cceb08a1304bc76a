// The library that `refrain audit -- CMD` and `refrain record -- CMD` load into the
// program they run: where it is, and what else is missing for it to work.
#pragma once

#include <string>

namespace refrain {

struct InjectLibrary {
  std::string path;     ///< empty when it cannot be used
  std::string missing;  ///< what is missing and what to do, one line; empty when nothing is
};

/// Beside this program, as built or installed; and CUDA's driver on this machine.
[[nodiscard]] InjectLibrary find_inject_library();

}  // namespace refrain
