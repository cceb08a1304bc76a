#include "traces/nsys/row_progress.hpp"

#include <array>

namespace refrain {
namespace {

constexpr std::array kTables = {
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    "CUDA_GRAPH_NODE_EVENTS",
    "CUDA_GRAPH_EVENTS",
    "CUDA_GPU_MEMORY_USAGE_EVENTS",
    "NVTX_EVENTS",
};

}  // namespace

RowProgress::RowProgress(Database& database, const ReadProgress& progress) : progress_(progress) {
  if (!progress) return;
  for (const char* table : kTables) all_ += database.last_row(table);
}

}  // namespace refrain
