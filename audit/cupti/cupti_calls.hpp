// The few calls of CUPTI that are made, taken at run time: a process that has no
// libcupti must run on as if nothing were there, and one that has loaded its own
// (PyTorch) must share it.
#pragma once

#include <cupti.h>

#include <optional>
#include <string>

namespace refrain {

/// The process's libcupti of CUDA 13, by dlopen; null, with the reason, where there is none.
[[nodiscard]] void* open_cupti(std::string& reason);

struct CuptiCalls {
  decltype(&cuptiSubscribe_v2) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiEnableCallback) enable_callback = nullptr;
  decltype(&cuptiFinalize) finalize = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;

  /// Nothing, and the reason, where there is no libcupti of CUDA 13.
  [[nodiscard]] static std::optional<CuptiCalls> load(std::string& reason);
};

}  // namespace refrain
