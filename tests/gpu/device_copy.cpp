#include "tests/gpu/device_copy.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>

#include "tests/catch.hpp"

namespace refrain::test {
namespace {

constexpr std::size_t kGuard = 1024;
constexpr int kGuardByte = 0xC3;

bool is_intact(const std::byte* guard) {
  std::array<std::byte, kGuard> bytes;
  require_success(cudaMemcpy(bytes.data(), guard, kGuard, cudaMemcpyDeviceToHost), "cudaMemcpy of a guard");
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{kGuardByte}; });
}

template <class T>
void move(const DeviceCopy& copy, T*& pointer) {
  pointer = copy.at(pointer);
}

}  // namespace

void require_success(int code, const char* what) {
  INFO(what << ": " << cudaGetErrorString(static_cast<cudaError_t>(code)));
  REQUIRE(code == 0);
}

DeviceCopy::DeviceCopy(const Memory& memory) {
  const Memory::Photo photo = memory.photo();
  for (std::size_t i = 0; i < photo.size(); ++i) {
    void* whole = nullptr;
    require_success(cudaMalloc(&whole, photo[i].size() + 2 * kGuard), "cudaMalloc");
    require_success(cudaMemset(whole, kGuardByte, photo[i].size() + 2 * kGuard), "cudaMemset");
    blocks_.push_back({memory.address(i, 0), photo[i].size(), static_cast<std::byte*>(whole) + kGuard});
  }
  upload(photo);
}

DeviceCopy::~DeviceCopy() {
  for (const Block& block : blocks_) cudaFree(block.device - kGuard);
}

void DeviceCopy::upload(const Memory::Photo& photo) {
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    require_success(cudaMemcpy(blocks_[i].device, photo[i].data(), blocks_[i].bytes, cudaMemcpyHostToDevice),
                    "cudaMemcpy to the device");
  // From pageable memory a copy may return while its last bytes are on their way, and the tests' streams don't wait.
  require_success(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

Memory::Photo DeviceCopy::download() const {
  Memory::Photo photo;
  for (const Block& block : blocks_) {
    INFO("block " << photo.size());
    REQUIRE(is_intact(block.device - kGuard));
    REQUIRE(is_intact(block.device + block.bytes));
    std::vector<std::byte>& bytes = photo.emplace_back(block.bytes);
    require_success(cudaMemcpy(bytes.data(), block.device, bytes.size(), cudaMemcpyDeviceToHost),
                    "cudaMemcpy from the device");
  }
  return photo;
}

std::byte* DeviceCopy::translate(Address host) const {
  if (host == 0) return nullptr;
  for (const Block& block : blocks_)
    if (host >= block.host && host < block.host + std::max<std::size_t>(block.bytes, 1))
      return block.device + (host - block.host);
  FAIL("a pointer outside the copied memory");
  return nullptr;
}

BatchView on_device(const DeviceCopy& copy, BatchView batch) {
  move(copy, batch.rows);
  move(copy, batch.token_to_req);
  move(copy, batch.query_pos);
  move(copy, batch.seq_len);
  move(copy, batch.page_table);
  return batch;
}

KvPoolView on_device(const DeviceCopy& copy, KvPoolView pool) {
  move(copy, pool.data);
  return pool;
}

ConvertArgs on_device(const DeviceCopy& copy, ConvertArgs args) {
  move(copy, args.from);
  move(copy, args.to);
  return args;
}

KvAppendArgs on_device(const DeviceCopy& copy, KvAppendArgs args) {
  args.pool = on_device(copy, args.pool);
  args.batch = on_device(copy, args.batch);
  move(copy, args.k);
  move(copy, args.v);
  move(copy, args.k_scale);
  move(copy, args.v_scale);
  return args;
}

MlaAppendArgs on_device(const DeviceCopy& copy, MlaAppendArgs args) {
  move(copy, args.latent);
  move(copy, args.pool.data);
  args.batch = on_device(copy, args.batch);
  return args;
}

SelectRecentArgs on_device(const DeviceCopy& copy, SelectRecentArgs args) {
  args.batch = on_device(copy, args.batch);
  move(copy, args.selected);
  return args;
}

SelectSlotsArgs on_device(const DeviceCopy& copy, SelectSlotsArgs args) {
  args.batch = on_device(copy, args.batch);
  move(copy, args.indices);
  move(copy, args.lengths);
  return args;
}

PlanGroupedArgs on_device(const DeviceCopy& copy, PlanGroupedArgs args) {
  args.pool = on_device(copy, args.pool);
  args.batch = on_device(copy, args.batch);
  move(copy, args.selected);
  move(copy, args.microblocks);
  move(copy, args.masks);
  move(copy, args.tokens);
  return args;
}

PadFixArgs on_device(const DeviceCopy& copy, PadFixArgs args) {
  move(copy, args.microblocks);
  move(copy, args.masks);
  return args;
}

PageSplitArgs on_device(const DeviceCopy& copy, PageSplitArgs args) {
  move(copy, args.source.data);
  move(copy, args.scratch.data);
  move(copy, args.indices);
  move(copy, args.lengths);
  move(copy, args.real_rows);
  move(copy, args.touched);
  return args;
}

GroupedAttentionArgs on_device(const DeviceCopy& copy, GroupedAttentionArgs args) {
  args.pool = on_device(copy, args.pool);
  move(copy, args.q);
  move(copy, args.microblocks);
  move(copy, args.masks);
  move(copy, args.tokens);
  move(copy, args.k_scale);
  move(copy, args.v_scale);
  move(copy, args.out);
  move(copy, args.lse);
  return args;
}

PlanXqaArgs on_device(const DeviceCopy& copy, PlanXqaArgs args) {
  args.pool = on_device(copy, args.pool);
  args.batch = on_device(copy, args.batch);
  move(copy, args.selected);
  move(copy, args.keys);
  move(copy, args.slot_rows);
  move(copy, args.lengths);
  move(copy, args.active_partitions);
  move(copy, args.counters);
  return args;
}

VerifyDraftArgs on_device(const DeviceCopy& copy, VerifyDraftArgs args) {
  move(copy, args.logits);
  move(copy, args.draft_tokens);
  move(copy, args.draft_lengths);
  move(copy, args.draft_probs);
  move(copy, args.seed);
  move(copy, args.real_requests);
  move(copy, args.accepted);
  move(copy, args.tokens);
  return args;
}

XqaDecodeArgs on_device(const DeviceCopy& copy, XqaDecodeArgs args) {
  args.pool = on_device(copy, args.pool);
  args.batch = on_device(copy, args.batch);
  move(copy, args.q);
  move(copy, args.keys);
  move(copy, args.slot_rows);
  move(copy, args.lengths);
  move(copy, args.active_partitions);
  move(copy, args.k_scale);
  move(copy, args.v_scale);
  move(copy, args.partials);
  move(copy, args.partial_lse);
  move(copy, args.counters);
  move(copy, args.out);
  move(copy, args.lse);
  return args;
}

SparseMlaArgs on_device(const DeviceCopy& copy, SparseMlaArgs args) {
  move(copy, args.pool.data);
  move(copy, args.q);
  move(copy, args.indices);
  move(copy, args.lengths);
  move(copy, args.real_rows);
  move(copy, args.sinks);
  move(copy, args.out);
  move(copy, args.lse);
  move(copy, args.max_logits);
  move(copy, args.partials);
  move(copy, args.partial_lse);
  move(copy, args.partial_max);
  return args;
}

MergeMlaArgs on_device(const DeviceCopy& copy, MergeMlaArgs args) {
  move(copy, args.partials);
  move(copy, args.partial_lse);
  move(copy, args.partial_max);
  move(copy, args.real_rows);
  move(copy, args.sinks);
  move(copy, args.out);
  move(copy, args.lse);
  move(copy, args.max_logits);
  return args;
}

}  // namespace refrain::test
