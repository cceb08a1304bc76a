// An NVTX injection library for a test: it stands where Nsight Systems would and
// writes each range of the domain `refrain` as a line, `depth name payload`, into
// the file that REFRAIN_NVTX_LOG names. NVTX loads it through NVTX_INJECTION64_PATH.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

thread_local int depth = 0;
std::FILE* out = nullptr;

// Any address that is not null will do for the one domain that is looked at.
nvtxDomainHandle_t create_domain(const char* name) {
  static int ours = 0, other = 0;
  return reinterpret_cast<nvtxDomainHandle_t>(std::strcmp(name, "refrain") == 0 ? &ours : &other);
}

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
  const unsigned long long payload =
      range->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 ? range->payload.ullValue : 0;
  std::fprintf(out, "%d %s %llu\n", depth, range->message.ascii, payload);
  std::fflush(out);
  return depth++;
}

int pop(nvtxDomainHandle_t) {
  return --depth;
}

template <class Function>
NvtxFunctionPointer entry(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const char* path = std::getenv("REFRAIN_NVTX_LOG");
  out = path != nullptr ? std::fopen(path, "w") : nullptr;
  const auto* tables = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  if (out == nullptr || tables == nullptr || tables->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, nullptr) != 1)
    return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = entry(create_domain);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = entry(push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = entry(pop);
  return 1;
}
