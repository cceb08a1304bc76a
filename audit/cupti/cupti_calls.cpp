#include "audit/cupti/cupti_calls.hpp"

#include <dlfcn.h>

namespace refrain {
namespace {

constexpr const char* kPlaces[] = {"libcupti.so.13", "/usr/local/cuda/lib64/libcupti.so.13",
                                   "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"};

template <class Function>
bool take(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

}  // namespace

void* open_cupti(std::string& reason) {
  void* library = ::dlopen(kPlaces[0], RTLD_NOW | RTLD_NOLOAD);
  for (const char* place : kPlaces)
    if (library == nullptr) library = ::dlopen(place, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    reason =
        "libcupti.so.13 was not found; install the CUDA 13 package cuda-cupti, or put its folder into "
        "LD_LIBRARY_PATH";
  return library;
}

std::optional<CuptiCalls> CuptiCalls::load(std::string& reason) {
  void* library = open_cupti(reason);
  if (library == nullptr) return std::nullopt;
  CuptiCalls calls;
  const bool whole =
      take(library, "cuptiSubscribe_v2", calls.subscribe) && take(library, "cuptiUnsubscribe", calls.unsubscribe) &&
      take(library, "cuptiEnableCallback", calls.enable_callback) && take(library, "cuptiFinalize", calls.finalize) &&
      take(library, "cuptiGetResultString", calls.result_string);
  if (whole) return calls;
  reason = "libcupti lacks cuptiSubscribe_v2; it must be that of CUDA 13.0 or newer";
  return std::nullopt;
}

}  // namespace refrain
