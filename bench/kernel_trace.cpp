#include "bench/kernel_trace.hpp"

#ifdef REFRAIN_HAS_CUPTI

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "audit/cupti/cupti_calls.hpp"

namespace refrain::bench {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20, kAlignment = 8;

struct Activity {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  std::mutex mutex;  ///< of the records: CUPTI brings them on a thread of its own
  std::vector<KernelTime> records;
};

/// CUPTI's callbacks are handed nothing of ours, so what they need stands still.
Activity& activity() {
  static Activity one;
  return one;
}

template <class Function>
bool take_symbol(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

void read_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  Activity& a = activity();
  {
    const std::lock_guard lock(a.mutex);
    CUpti_Activity* record = nullptr;
    while (valid > 0 && a.next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
      if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      a.records.push_back({kernel->start, kernel->end});
    }
  }
  std::free(buffer);
}

}  // namespace

std::optional<KernelTrace> KernelTrace::start(std::string& reason) {
  void* library = open_cupti(reason);
  if (library == nullptr) return std::nullopt;
  Activity& a = activity();
  if (!take_symbol(library, "cuptiActivityRegisterCallbacks", a.register_callbacks) ||
      !take_symbol(library, "cuptiActivityEnable", a.enable) ||
      !take_symbol(library, "cuptiActivityFlushAll", a.flush_all) ||
      !take_symbol(library, "cuptiActivityGetNextRecord", a.next_record)) {
    reason = "libcupti lacks the activity calls";
    return std::nullopt;
  }
  // Not GRAPH_TRACE, with which a graph launch is one record.
  if (a.register_callbacks(give_buffer, read_buffer) != CUPTI_SUCCESS ||
      a.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS) {
    reason = "CUPTI refused activity records: another tool has it, or the driver keeps counters to root";
    return std::nullopt;
  }
  return KernelTrace();
}

std::vector<KernelTime> KernelTrace::take() {
  Activity& a = activity();
  (void)a.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(a.mutex);
  std::vector<KernelTime> out = std::exchange(a.records, {});
  std::sort(out.begin(), out.end(), [](const KernelTime& x, const KernelTime& y) { return x.start_ns < y.start_ns; });
  return out;
}

}  // namespace refrain::bench

#else

namespace refrain::bench {

std::optional<KernelTrace> KernelTrace::start(std::string& reason) {
  reason = "this build had no cupti.h";
  return std::nullopt;
}

std::vector<KernelTime> KernelTrace::take() {
  return {};
}

}  // namespace refrain::bench

#endif
