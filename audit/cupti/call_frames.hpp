// Who makes the call that a callback is about: the stack of the calling thread above
// CUDA's own libraries. Names of exported functions only; a frame without one is
// told by its library. It opens no file and changes nothing.
#pragma once

#include <cstdint>
#include <string>

#include "graphs/contract.hpp"

namespace refrain {

/// The first function outside CUDA, CUPTI and this library that has a name, without its parameters; else the library.
/// `Python` where that is what called.
[[nodiscard]] std::string calling_function();
/// Where the frame of that function's callee begins: lower addresses of the stack are in nobody's use but CUDA's. 0
/// where the stack cannot be walked.
[[nodiscard]] Address calling_stack();
/// It lies in the stack of the calling thread.
[[nodiscard]] bool lies_on_own_stack(Address address);

}  // namespace refrain
