// Names of C++ as people write them.
#pragma once

#include <string>
#include <string_view>

namespace refrain {

/// The name itself where it is no mangled one.
[[nodiscard]] std::string demangled(std::string_view symbol);

}  // namespace refrain
