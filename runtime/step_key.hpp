// Everything that a captured step has baked into it: two steps with equal keys may run
// the same graph, and two that differ in any field may not. Plain values: ordered,
// hashable, printable. What the host writes before each launch (the count of real rows,
// lengths, tables, tokens) is no part of it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graphs/contract.hpp"
#include "kernels/mla_pool_view.hpp"
#include "kernels/verify_draft.hpp"

namespace refrain {

enum class Phase : std::uint8_t { prefill, decode, verify };
inline constexpr std::array kPhases = {Phase::prefill, Phase::decode, Phase::verify};
[[nodiscard]] const char* to_string(Phase) noexcept;

struct StepKey {
  Phase phase = Phase::decode;
  std::string step;               ///< what is recorded, by name: `xqa_decode`, `llama`
  std::int32_t rows = 1;          ///< of the bucket, pads included
  std::int32_t query_length = 1;  ///< query tokens a request: 1 + K in a draft verification
  std::int32_t requests = 1;      ///< rows of the page table
  std::int32_t table_width = 0;   ///< entries of one of them
  std::int32_t page_size = 32;    ///< tokens
  Dtype kv = Dtype::e4m3;
  Dtype q = Dtype::fp16;
  std::int32_t heads = 1, kv_heads = 1, dim = 1;
  std::int32_t partitions = 0;  ///< splits of a decode; 0: none, or as many as follow from the other fields
  std::int32_t topk = 0;        ///< index entries a row of sparse MLA; 0 in other steps
  MlaRecord record = MlaRecord::bf16;
  bool sinks = false;
  DraftRule draft_rule = DraftRule::greedy;
  std::vector<std::uint64_t> leases;  ///< Buffer::allocation of every buffer that the graph may name, ascending
  std::vector<Address> scales;        ///< where K/V scales are read, in the order of the layers

  friend bool operator==(const StepKey&, const StepKey&) = default;
  friend auto operator<=>(const StepKey&, const StepKey&) = default;

  /// Whether the two differ in nothing but addresses: leases and scale pointers.
  [[nodiscard]] bool same_shape(const StepKey& other) const;
};

struct StepKeyHash {
  [[nodiscard]] std::size_t operator()(const StepKey& key) const noexcept;
};

/// `decode rows=24`, `verify rows=20 q=5`: short, for counters and progress.
[[nodiscard]] std::string bucket_name(const StepKey& key);
/// Every field: `decode rows=24 q=1 step=xqa_decode requests=24 table=65 page=32 kv=e4m3 query=fp16 heads=6/1 dim=256
/// splits=9 ... leases=3-17,21 scales=0x7f...`.
[[nodiscard]] std::string to_string(const StepKey& key);

}  // namespace refrain
