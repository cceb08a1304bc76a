// Everything that one sparse MLA step reads, made from a seed on the host: queries,
// index lists, lengths, sinks, and the pool's records. The lists hold every kind of
// entry that must not matter: -1 in the middle, masked chunks before and after, a row
// of nothing else, and ids past a row's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/mla_pool_view.hpp"
#include "runtime/steps/options.hpp"

namespace refrain {

/// Index entries that the kernels take at a time: rows of several masked chunks are made of them.
inline constexpr std::int32_t kMlaChunk = 64;

struct MlaInputs {
  std::vector<std::int32_t> rows;                ///< [1]: the real ones
  std::vector<std::int32_t> indices;             ///< [bucket, topk]: slots; -1 in pad rows
  std::vector<std::int32_t> lengths;             ///< [bucket]: 0 in pad rows
  std::vector<std::byte> q;                      ///< [bucket, heads, dim] bf16: N(0, 1); zeros in pad rows
  std::vector<float> sinks;                      ///< [heads]: N(0, 1); empty without sinks
  std::vector<std::vector<std::int32_t>> pages;  ///< by request
  std::vector<std::int32_t> unused_pages;        ///< that nobody owns, the null block not among them
  std::int64_t first_page = 0;                   ///< of `pool`
  std::vector<std::byte> pool;      ///< pages `first_page` to the last: N(0, 1) records of every token; the rest zeros
  std::int32_t stale_slot = 0;      ///< what stands past a row's length: a slot that no row attends
  std::vector<bool> attended_slot;  ///< by slot from first_page's first on: some row's list names it

  [[nodiscard]] bool attends(const MlaPoolView& shape, std::int64_t slot) const {
    return attended_slot[static_cast<std::size_t>(slot - first_page * shape.page_size)];
  }
};

/// Pages that a request's tokens fill, and the pool's shape: the null block, two pages that nobody owns, those of the
/// requests; with the fault `split-int32-offsets` at least so many that the scratch's last page lies beyond 2^31, with
/// the requests' pages at the top.
[[nodiscard]] std::int32_t mla_pages_used(const StepOptions& options);
[[nodiscard]] MlaPoolView mla_pool_shape(const StepOptions& options);

[[nodiscard]] MlaInputs make_mla_inputs(const StepOptions& options);

/// The slots that a real row attends: entries before its length that are none of -1.
[[nodiscard]] std::vector<std::int64_t> attended_slots(const StepOptions& options, const MlaInputs& inputs,
                                                       std::int32_t row);

}  // namespace refrain
