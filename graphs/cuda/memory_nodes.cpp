#include "graphs/cuda/memory_nodes.hpp"

#include <algorithm>

namespace refrain {
namespace {

/// One side of a copy: rows of the copy's width, `pitch` bytes apart, `rows` of them a slice.
struct Side {
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  Address base = 0;
  std::uint64_t pitch = 0, slice_rows = 0, x = 0, y = 0, z = 0;
};

Side source_of(const CUDA_MEMCPY3D& copy) {
  const Address base = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<Address>(copy.srcHost)
                                                                : static_cast<Address>(copy.srcDevice);
  return {copy.srcMemoryType, base, copy.srcPitch, copy.srcHeight, copy.srcXInBytes, copy.srcY, copy.srcZ};
}

Side destination_of(const CUDA_MEMCPY3D& copy) {
  const Address base = copy.dstMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<Address>(copy.dstHost)
                                                                : static_cast<Address>(copy.dstDevice);
  return {copy.dstMemoryType, base, copy.dstPitch, copy.dstHeight, copy.dstXInBytes, copy.dstY, copy.dstZ};
}

struct Extent {
  std::uint64_t width = 0, height = 1, depth = 1;
};

bool strided(const Side& side, const Extent& extent) {
  if (side.type == CU_MEMORYTYPE_ARRAY) return false;
  if (extent.height > 1 && side.pitch != extent.width) return true;
  return extent.depth > 1 && side.slice_rows * side.pitch != extent.height * extent.width;
}

/// Where the copy begins on this side; 0 for an array, which has no address, and for a strided side.
Address address_of(const Side& side, const Extent& extent) {
  if (side.type == CU_MEMORYTYPE_ARRAY || strided(side, extent)) return 0;
  return side.base + (side.z * side.slice_rows + side.y) * side.pitch + side.x;
}

}  // namespace

bool read_memcpy_node(const DriverCalls& calls, const KnownMemory& memory, cudaGraphNode_t from, Node& to) {
  CUDA_MEMCPY3D params{};
  check_cuda(calls.graph_memcpy_node_get_params(from, &params), "cuGraphMemcpyNodeGetParams");
  const Extent extent{params.WidthInBytes, std::max<std::uint64_t>(1, params.Height),
                      std::max<std::uint64_t>(1, params.Depth)};
  const Side src = source_of(params), dst = destination_of(params);
  CopyInfo copy;
  copy.src = address_of(src, extent);
  copy.dst = address_of(dst, extent);
  copy.bytes = extent.width * extent.height * extent.depth;
  copy.src_space = memory.space_of(src.base, src.type);
  copy.dst_space = memory.space_of(dst.base, dst.type);
  to.copy = copy;
  return !strided(src, extent) && !strided(dst, extent);
}

bool read_memset_node(cudaGraphNode_t from, Node& to) {
  cudaMemsetParams params{};
  check_cuda(cudaGraphMemsetNodeGetParams(from, &params), "cudaGraphMemsetNodeGetParams");
  const std::uint64_t row = params.width * params.elementSize;
  const bool is_strided = params.height > 1 && params.pitch != row;
  FillInfo fill;
  fill.dst = is_strided ? 0 : reinterpret_cast<Address>(params.dst);
  fill.bytes = row * std::max<std::uint64_t>(1, params.height);
  fill.value = params.value;
  fill.element_bytes = params.elementSize;
  to.fill = fill;
  return !is_strided;
}

void read_alloc_node(cudaGraphNode_t from, Node& to) {
  cudaMemAllocNodeParams params{};
  check_cuda(cudaGraphMemAllocNodeGetParams(from, &params), "cudaGraphMemAllocNodeGetParams");
  to.allocation = AllocationInfo{reinterpret_cast<Address>(params.dptr), params.bytesize};
}

void read_free_node(cudaGraphNode_t from, Node& to) {
  void* address = nullptr;
  check_cuda(cudaGraphMemFreeNodeGetParams(from, static_cast<void*>(&address)), "cudaGraphMemFreeNodeGetParams");
  to.allocation = AllocationInfo{reinterpret_cast<Address>(address), 0};
}

}  // namespace refrain
