#include "audit/cupti/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace refrain {

std::string demangled(std::string_view symbol) {
  int status = 0;
  const std::string text(symbol);
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && name ? name.get() : text;
}

}  // namespace refrain
