// A copy on the device of every block of a test's Memory, and Args whose pointers
// name the copy: the twin runs on the one and the kernel on the other, from the
// same bytes. Each block lies between two guards that every download checks.
// Blocks that are taken after the copy was made are not in it.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "kernels/convert.hpp"
#include "kernels/grouped_attention.hpp"
#include "kernels/kv_append.hpp"
#include "kernels/merge_mla.hpp"
#include "kernels/mla_append.hpp"
#include "kernels/pad_fix.hpp"
#include "kernels/page_split.hpp"
#include "kernels/plan_grouped.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/select_recent.hpp"
#include "kernels/sparse_mla.hpp"
#include "kernels/verify_draft.hpp"
#include "kernels/xqa_decode.hpp"
#include "tests/kernels/memory.hpp"

namespace refrain::test {

/// Fails the running test case unless `code` (a cudaError_t) is success.
void require_success(int code, const char* what);

class DeviceCopy {
 public:
  /// Holds the bytes that `memory` holds now.
  explicit DeviceCopy(const Memory& memory);
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  /// Synchronous, both of them.
  void upload(const Memory::Photo& photo);
  [[nodiscard]] Memory::Photo download() const;

  /// The device's address of what `host` points into; null stays null.
  template <class T>
  [[nodiscard]] T* at(T* host) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(const_cast<Byte*>(translate(reinterpret_cast<Address>(host))));
  }

 private:
  struct Block {
    Address host;
    std::size_t bytes;
    std::byte* device;  ///< the block itself; its guards lie around it
  };
  [[nodiscard]] std::byte* translate(Address host) const;

  std::vector<Block> blocks_;
};

[[nodiscard]] BatchView on_device(const DeviceCopy& copy, BatchView batch);
[[nodiscard]] KvPoolView on_device(const DeviceCopy& copy, KvPoolView pool);
[[nodiscard]] ConvertArgs on_device(const DeviceCopy& copy, ConvertArgs args);
[[nodiscard]] KvAppendArgs on_device(const DeviceCopy& copy, KvAppendArgs args);
[[nodiscard]] MlaAppendArgs on_device(const DeviceCopy& copy, MlaAppendArgs args);
[[nodiscard]] SelectRecentArgs on_device(const DeviceCopy& copy, SelectRecentArgs args);
[[nodiscard]] SelectSlotsArgs on_device(const DeviceCopy& copy, SelectSlotsArgs args);
[[nodiscard]] PlanGroupedArgs on_device(const DeviceCopy& copy, PlanGroupedArgs args);
[[nodiscard]] PadFixArgs on_device(const DeviceCopy& copy, PadFixArgs args);
[[nodiscard]] PageSplitArgs on_device(const DeviceCopy& copy, PageSplitArgs args);
[[nodiscard]] GroupedAttentionArgs on_device(const DeviceCopy& copy, GroupedAttentionArgs args);
[[nodiscard]] PlanXqaArgs on_device(const DeviceCopy& copy, PlanXqaArgs args);
[[nodiscard]] VerifyDraftArgs on_device(const DeviceCopy& copy, VerifyDraftArgs args);
[[nodiscard]] XqaDecodeArgs on_device(const DeviceCopy& copy, XqaDecodeArgs args);
[[nodiscard]] SparseMlaArgs on_device(const DeviceCopy& copy, SparseMlaArgs args);
[[nodiscard]] MergeMlaArgs on_device(const DeviceCopy& copy, MergeMlaArgs args);

}  // namespace refrain::test
