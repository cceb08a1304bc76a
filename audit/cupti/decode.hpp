// From CUPTI's parameter structs to a LiveCall. The structs are some three hundred,
// but they name their fields alike, so one template reads whatever of these names a
// struct has. What a call gives back stands behind a pointer and is read on the exit
// side, after a call that went well.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "audit/cupti/live_call.hpp"

namespace refrain {

template <class Handle>
std::uint64_t number_of_handle(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uint64_t>(handle);
  else
    return static_cast<std::uint64_t>(handle);
}

/// Reads the fields of one struct into a call. `done`: on the exit side, and the call went well.
template <class Params>
class Decoder {
 public:
  Decoder(const Params& p, bool done, LiveCall& call) : p_(p), done_(done), call_(call) {}

  void run() {
    streams();
    objects();
    addresses();
    sizes();
    modes();
    functions();
  }

 private:
  template <class Handle>
  void made(Handle* where) {
    if (done_ && where != nullptr) call_.made = number_of_handle(*where);
  }

  void address(void* value) { call_.address = reinterpret_cast<Address>(value); }
  void address(const void* value) { call_.address = reinterpret_cast<Address>(value); }
  void address(CUdeviceptr value) { call_.address = value; }
  void address(void** where) {
    if (done_ && where != nullptr) address(*where);
  }
  void address(CUdeviceptr* where) {
    if (done_ && where != nullptr) address(*where);
  }
  void source(const void* value) { call_.source = reinterpret_cast<Address>(value); }
  void source(CUdeviceptr value) { call_.source = value; }

  void streams() {
    if constexpr (requires { p_.stream; }) call_.stream = number_of_handle(p_.stream);
    if constexpr (requires { p_.hStream; }) call_.stream = number_of_handle(p_.hStream);
    if constexpr (requires { p_.config->stream; })
      if (p_.config != nullptr) call_.stream = number_of_handle(p_.config->stream);
    if constexpr (requires { p_.config->hStream; })
      if (p_.config != nullptr) call_.stream = number_of_handle(p_.config->hStream);
    if constexpr (requires { p_.pStream; }) made(p_.pStream);
    if constexpr (requires { p_.phStream; }) made(p_.phStream);
  }

  void objects() {
    if constexpr (requires { p_.event; }) event(p_.event);
    if constexpr (requires { p_.hEvent; }) event(p_.hEvent);
    if constexpr (requires { p_.phEvent; }) event(p_.phEvent);
    if constexpr (requires { p_.graphExec; }) call_.object = number_of_handle(p_.graphExec);
    if constexpr (requires { p_.graph; }) call_.object = number_of_handle(p_.graph);
    if constexpr (requires { p_.hGraphExec; }) {
      call_.object = number_of_handle(p_.hGraphExec);
      // Of an update: the exec is the object, the graph is what it runs from now on.
      if constexpr (requires { p_.hGraph; }) call_.made = number_of_handle(p_.hGraph);
    } else if constexpr (requires { p_.hGraph; }) {
      call_.object = number_of_handle(p_.hGraph);
    }
    if constexpr (requires { p_.pGraph; }) made(p_.pGraph);
    if constexpr (requires { p_.phGraph; }) made(p_.phGraph);
    if constexpr (requires { p_.pGraphExec; }) made(p_.pGraphExec);
    if constexpr (requires { p_.phGraphExec; }) made(p_.phGraphExec);
    if constexpr (requires { p_.nodeParams->conditional; }) bodies();
  }

  template <class Event>
  void event(Event* value) {
    if constexpr (std::is_pointer_v<Event>)
      made(value);
    else
      call_.object = number_of_handle(value);
  }

  void bodies() {
    if constexpr (requires { p_.pGraphNode; }) made(p_.pGraphNode);
    if constexpr (requires { p_.phGraphNode; }) made(p_.phGraphNode);
    if (!done_ || p_.nodeParams == nullptr || static_cast<int>(p_.nodeParams->type) != kConditional) return;
    const auto& conditional = p_.nodeParams->conditional;
    for (unsigned int i = 0; i < conditional.size && conditional.phGraph_out != nullptr; ++i)
      call_.bodies.push_back(number_of_handle(conditional.phGraph_out[i]));
  }

  void addresses() {
    if constexpr (requires { p_.devPtr; }) address(p_.devPtr);
    if constexpr (requires { p_.dptr; }) address(p_.dptr);
    if constexpr (requires { p_.ptr; }) address(p_.ptr);
    if constexpr (requires { p_.pHost; }) address(p_.pHost);
    if constexpr (requires { p_.pp; }) address(p_.pp);
    if constexpr (requires { address(p_.p); }) address(p_.p);
    if constexpr (requires { p_.dst; }) address(p_.dst);
    if constexpr (requires { p_.src; }) source(p_.src);
    if constexpr (requires { p_.dstHost; }) address(p_.dstHost);
    if constexpr (requires { p_.srcHost; }) source(p_.srcHost);
    // The runtime's peer copies call their devices so.
    if constexpr (requires {
                    { p_.dstDevice } -> std::same_as<const CUdeviceptr&>;
                  })
      address(p_.dstDevice);
    if constexpr (requires {
                    { p_.srcDevice } -> std::same_as<const CUdeviceptr&>;
                  })
      source(p_.srcDevice);
    if constexpr (requires { p_.pitchedDevPtr->ptr; })
      if (done_ && p_.pitchedDevPtr != nullptr) address(p_.pitchedDevPtr->ptr);
  }

  void sizes() {
    if constexpr (requires { p_.size; }) call_.bytes = p_.size;
    if constexpr (requires { p_.bytesize; }) call_.bytes = p_.bytesize;
    if constexpr (requires { p_.ByteCount; }) call_.bytes = p_.ByteCount;
    if constexpr (
        requires { p_.count; } && !requires { p_.dsts; })
      call_.bytes = p_.count;
    if constexpr (requires { p_.width* p_.height; }) call_.bytes = p_.width * p_.height;
    if constexpr (requires { p_.N; }) {
      call_.bytes = p_.N;
      if constexpr (requires { p_.us; }) call_.bytes *= sizeof p_.us;
      if constexpr (requires { p_.ui; }) call_.bytes *= sizeof p_.ui;
    }
    if constexpr (requires { p_.pCopy; })
      if (p_.pCopy != nullptr) block_copy(*p_.pCopy);
    if constexpr (requires { p_.p->srcPtr; })
      if (p_.p != nullptr) block_copy(*p_.p);
  }

  void block_copy(const cudaMemcpy3DParms& copy) {
    address(copy.dstPtr.ptr);
    source(copy.srcPtr.ptr);
    call_.bytes = copy.extent.width * copy.extent.height * copy.extent.depth;
  }
  void block_copy(const CUDA_MEMCPY3D& copy) {
    driver_ends(copy);
    call_.bytes = copy.WidthInBytes * copy.Height * copy.Depth;
  }
  void block_copy(const CUDA_MEMCPY2D& copy) {
    driver_ends(copy);
    call_.bytes = copy.WidthInBytes * copy.Height;
  }
  template <class Copy>
  void driver_ends(const Copy& copy) {
    if (copy.dstMemoryType == CU_MEMORYTYPE_HOST)
      address(copy.dstHost);
    else
      address(copy.dstDevice);
    if (copy.srcMemoryType == CU_MEMORYTYPE_HOST)
      source(copy.srcHost);
    else
      source(copy.srcDevice);
  }

  void modes() {
    if constexpr (requires { p_.mode; }) {
      if constexpr (std::is_pointer_v<decltype(p_.mode)>) {
        // An exchange gives the old mode back in the same place: what was asked for stands there before the call.
        if (p_.mode != nullptr) call_.mode = static_cast<CaptureMode>(*p_.mode);
      } else {
        call_.mode = static_cast<CaptureMode>(p_.mode);
      }
    }
    if constexpr (requires {
                    p_.event;
                    p_.flags;
                  })
      call_.external = (p_.flags & 1U) != 0;
    if constexpr (requires {
                    p_.hEvent;
                    p_.flags;
                  })
      call_.external = (p_.flags & 1U) != 0;
    if constexpr (requires {
                    p_.hEvent;
                    p_.Flags;
                  })
      call_.external = (p_.Flags & 1U) != 0;
  }

  void functions() {
    if constexpr (requires {
                    p_.func;
                    p_.args;
                  })
      call_.function = number_of_handle(p_.func);
    if constexpr (requires { p_.f; }) call_.function = number_of_handle(p_.f);
  }

  static constexpr int kConditional = 13;  // the same number in both APIs

  const Params& p_;
  const bool done_;
  LiveCall& call_;
};

template <class Params>
void decode(const void* params, bool done, LiveCall& call) {
  Decoder<Params>(*static_cast<const Params*>(params), done, call).run();
}

/// One function of an API that is watched.
struct WatchedCall {
  CUpti_CallbackId id = 0;
  const char* name = nullptr;
  LiveKind kind = LiveKind::call;
  void (*decode)(const void* params, bool done, LiveCall& call) = nullptr;  ///< null: there is nothing to read
};

}  // namespace refrain
