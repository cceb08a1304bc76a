// A driver's return code, with CUDA's numbers on every driver, and the one
// function that turns a bad one into an Error.
#pragma once

#include <source_location>
#include <string>

#include "graphs/error.hpp"

namespace refrain {

/// CUDA runtime error numbers; those that this project answers itself have names.
enum class Status : int {
  success = 0,
  invalid_value = 1,
  memory_allocation = 2,
  not_supported = 801,
  illegal_state = 401,
  invalid_handle = 400,
  not_ready = 600,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_merge = 902,
  capture_unmatched = 903,
  capture_unjoined = 904,
  capture_isolation = 905,
  capture_implicit = 906,
  captured_event = 907,
  capture_wrong_thread = 908,
  graph_exec_update_failure = 910,
  unknown = 999,
};

/// `cudaErrorStreamCaptureUnsupported (900)`.
[[nodiscard]] std::string to_string(Status status);

/// Throws Error{driver} unless `status` is success. `what` names the call, and what for where that helps.
void check(Status status, const char* what, const std::source_location& where = std::source_location::current());

}  // namespace refrain
