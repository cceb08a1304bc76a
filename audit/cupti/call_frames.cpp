#include "audit/cupti/call_frames.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unwind.h>

#include <array>
#include <string_view>

#include "audit/cupti/demangle.hpp"

namespace refrain {
namespace {

struct Frame {
  Address ip = 0, stack = 0;
};

struct Frames {
  std::array<Frame, 48> frames;
  std::size_t count = 0;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* out) {
  Frames& frames = *static_cast<Frames*>(out);
  if (frames.count == frames.frames.size()) return _URC_END_OF_STACK;
  frames.frames[frames.count++] = {_Unwind_GetIP(context), _Unwind_GetCFA(context)};
  return _URC_NO_REASON;
}

Frames walk_stack() {
  Frames frames;
  _Unwind_Backtrace(add_frame, &frames);
  return frames;
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// CUDA's own, and what only carries a call from Python to C.
bool is_carrier(std::string_view library) {
  for (const std::string_view name : {"libcuda.so", "libcupti.so", "libcudart", "libnvidia-", "libffi", "_ctypes"})
    if (library.starts_with(name)) return true;
  return false;
}

/// Its functions are the interpreter's, and say nothing of who called.
bool is_python(std::string_view library) {
  return library.starts_with("python") || library.starts_with("libpython");
}

/// Of the frame: its library, and its exported function where the address lies within one.
struct Place {
  const void* base = nullptr;
  std::string_view library, symbol;
};

Place place_of(Address ip) {
  Dl_info info{};
  void* extra = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(ip - 1), &info, &extra, RTLD_DL_SYMENT) == 0) return {};
  Place place{info.dli_fbase, info.dli_fname != nullptr ? file_name(info.dli_fname) : "", {}};
  const auto* symbol = static_cast<const ElfW(Sym)*>(extra);
  const auto begin = reinterpret_cast<Address>(info.dli_saddr);
  // The nearest symbol below may be another function's: most have none.
  if (info.dli_sname != nullptr && symbol != nullptr && ip - 1 < begin + symbol->st_size) place.symbol = info.dli_sname;
  return place;
}

const void* own_base() {
  return place_of(reinterpret_cast<Address>(&own_base) + 1).base;
}

std::string readable(std::string_view symbol) {
  std::string out = demangled(symbol);
  if (const std::size_t bracket = out.find('('); bracket != std::string::npos && bracket != 0) out.resize(bracket);
  constexpr std::size_t kLongest = 120;
  if (out.size() > kLongest) out.resize(kLongest);
  return out;
}

}  // namespace

std::string calling_function() {
  const Frames frames = walk_stack();
  const void* own = own_base();
  std::string_view fallback;
  for (std::size_t i = 0; i < frames.count; ++i) {
    const Place place = place_of(frames.frames[i].ip);
    if (place.base == nullptr || place.base == own || is_carrier(place.library)) continue;
    if (is_python(place.library)) return fallback.empty() ? "Python" : std::string(fallback);
    if (!place.symbol.empty()) return readable(place.symbol);
    if (fallback.empty()) fallback = place.library;
  }
  return std::string(fallback);
}

Address calling_stack() {
  const Frames frames = walk_stack();
  const void* own = own_base();
  for (std::size_t i = 1; i < frames.count; ++i) {
    const Place place = place_of(frames.frames[i].ip);
    // A frame's CFA is where its caller's stack ended.
    if (place.base != nullptr && place.base != own && !is_carrier(place.library)) return frames.frames[i - 1].stack;
  }
  return 0;
}

bool lies_on_own_stack(Address address) {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return false;
  void* begin = nullptr;
  std::size_t bytes = 0;
  const int code = ::pthread_attr_getstack(&attributes, &begin, &bytes);
  ::pthread_attr_destroy(&attributes);
  const auto base = reinterpret_cast<Address>(begin);
  return code == 0 && base <= address && address - base < bytes;
}

}  // namespace refrain
