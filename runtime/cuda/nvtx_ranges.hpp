// Ranges of the NVTX domain `refrain`: what Nsight Systems shows above the calls of
// a thread. Without a profiler NVTX has no injection loaded and each call is a test
// of a pointer. A range's payload is a count, in Nsight's column of that name.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>

namespace refrain {

class NvtxRanges {
 public:
  NvtxRanges() : domain_(nvtxDomainCreateA("refrain")) {}
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;
  ~NvtxRanges() { nvtxDomainDestroy(domain_); }

  void begin(const char* name, std::uint64_t payload) noexcept {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    attributes.payloadType = payload == 0 ? NVTX_PAYLOAD_UNKNOWN : NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    attributes.payload.ullValue = payload;
    nvtxDomainRangePushEx(domain_, &attributes);
  }
  void end() noexcept { nvtxDomainRangePop(domain_); }

 private:
  nvtxDomainHandle_t domain_;
};

}  // namespace refrain
