// The warpgroups that bring tiles and queries to those who attend. bf16 records are
// copied to their place, E4M3 records into the room that they will take and decoded
// there. What is not attended enters as zeros. A tile is handed over by threads that have
// seen their copies arrive, so that those who attend need no fence.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/device/mla_records.cuh"
#include "kernels/device/mla_wgmma_list.cuh"
#include "kernels/device/mla_wgmma_shape.cuh"

namespace refrain::device {

/// This warp's bits of tile n.
template <class Shape>
__device__ void put_attended(const MlaHandOver<Shape>& over, std::int32_t n, int warp, std::uint32_t bits) {
  const std::uint32_t to = over.attended(n) + static_cast<std::uint32_t>(warp * Shape::kWarpEntries / 8);
  if (threadIdx.x % 32 != 0) return;
  if constexpr (Shape::kWarpEntries == 16)
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(static_cast<std::uint16_t>(bits)) : "memory");
  else
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "r"(bits) : "memory");
}

/// Brings queries. The first one is asked for before anything is known of the block's lists.
template <class Shape>
class MlaQueries {
 public:
  __device__ MlaQueries(const SparseMlaArgs& args, const MlaHandOver<Shape>& over, std::int64_t first_row, int thread)
      : args_(args), over_(over), asked_(first_row), thread_(thread) {
    copy(first_row);
  }

  /// The 64 rows of the next share that has tiles, once its turn comes.
  __device__ void bring(std::int64_t first_row) {
    if (count_ > 0) wait_for_turn(over_.query_free(), static_cast<std::uint32_t>(count_ & 1 ^ 1));
    if (first_row != asked_) {
      if (count_ == 0) wait_for_copies<0>();  // those of a share without tiles go to the same place
      copy(first_row);
    }
    arrive_when_copied(over_.query_full());
    asked_ = -1;
    ++count_;
  }

 private:
  __device__ void copy(std::int64_t first_row) const {
    const auto* from = static_cast<const std::byte*>(args_.q) + first_row * (2 * Shape::kDim) + thread_ % 8 * 16;
#pragma unroll 1
    for (int row = thread_ / 8; row < Shape::kHeads; row += Shape::kBringThreads / 8)
#pragma unroll
      for (int panel = 0; panel < Shape::kPanels; ++panel)
        gather16(over_.base + panel_chunk(Shape::kHeads, row, 8 * panel + thread_ % 8),
                 from + row * (2 * Shape::kDim) + panel * kPanelRowBytes, true);
  }

  const SparseMlaArgs& args_;
  const MlaHandOver<Shape>& over_;
  std::int64_t asked_;  ///< the query row whose copies are under way
  int thread_;
  std::int32_t count_ = 0;
};

/// Byte in shared memory of what lies at `at` of a tile for turn 0: four rows further with every turn, which the
/// swizzle sees.
[[nodiscard]] __device__ inline std::uint32_t mla_place(std::uint32_t at, std::uint32_t tile, int turn) {
  return tile + (turn % 2 == 0 ? at : at ^ 64u) + static_cast<std::uint32_t>(turn) * 4 * kPanelRowBytes;
}

/// bf16 records of a tile: eight lanes an entry, each with a 16-byte chunk of every panel.
template <class Shape>
class MlaWideRecords {
 public:
  __device__ MlaWideRecords(int row, int column) : column_(column), to_(panel_chunk(Shape::kEntries, row, column)) {}

  /// Starts the copies of turn `turn` to the tile.
  __device__ void load(const std::byte* pool, std::int64_t record, std::int64_t /*footer*/, std::uint32_t tile,
                       int turn) const {
    const bool read = record >= 0;
    const std::byte* from = pool + (read ? record : 0) + 16 * column_;
    const std::uint32_t to = mla_place(to_, tile, turn);
#pragma unroll
    for (int panel = 0; panel < Shape::kPanels; ++panel)
      gather16(to + panel * Shape::kPanelBytes, from + panel * kPanelRowBytes, read);
  }
  __device__ void decode(std::uint32_t /*tile*/, int /*turn*/) const {}

 private:
  int column_;
  std::uint32_t to_;
};

/// E4M3 records: eight lanes an entry, with pieces of 16 codes, of eight rope values, and scales. The
/// rope lands where it stays. Codes land in the row's own place, behind where theirs begins, and are decoded there.
template <class Shape>
class MlaCodes {
 public:
  /// `row` of the tile.
  __device__ MlaCodes(int row, int column) : column_(column) {
    const int turn = column / 4, chunk = 8 * turn + column % 4 * 2;
    raw_ = panel_chunk(Shape::kEntries, row, 8 * (Shape::kPanels - 1 - kSteps) + column);
    first_ = panel_chunk(Shape::kEntries, row, chunk + turn);
    second_ = panel_chunk(Shape::kEntries, row, chunk + 1 - turn);
  }

  /// Starts the copies of turn `turn` to the tile.
  __device__ void load(const std::byte* pool, std::int64_t record, std::int64_t footer, std::uint32_t tile, int turn) {
    const bool read = record >= 0;
    const std::byte* from = pool + (read ? record : 0);
    const std::uint32_t to = mla_place(raw_, tile, turn);
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      if (has(step)) gather16(to + step * Shape::kPanelBytes, from + 16 * (8 * step + column_), read);
    gather16(to + kSteps * Shape::kPanelBytes, from + Shape::kNope + (Shape::kFooter ? 0 : 16) + 16 * column_, read);
    scales_[turn] = {};
    if (!read) return;
    if constexpr (Shape::kFooter)
      scales_[turn] = __ldg(reinterpret_cast<const uint2*>(pool + footer));
    else
      scales_[turn] = __ldg(reinterpret_cast<const float*>(from + Shape::kNope) + column_ % 4);
  }

  /// Once this thread's copies are there.
  __device__ void decode(std::uint32_t tile, int turn) const {
    uint4 codes[kSteps];
    const std::uint32_t from = mla_place(raw_, tile, turn);
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      if (has(step)) codes[step] = load_shared_piece(from + step * Shape::kPanelBytes);
    __syncwarp();  // nobody writes before all have read
    // Columns 4..7 store their second half first: the 8 pieces of a phase then lie in different banks.
    const bool turned = column_ >= 4;
    const std::uint32_t first = mla_place(first_, tile, turn), second = mla_place(second_, tile, turn);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const float scale = scale_at(turn, step);
      if (!has(step)) continue;
      const uint4 low = scaled_piece(codes[step].x, codes[step].y, scale);
      const uint4 high = scaled_piece(codes[step].z, codes[step].w, scale);
      store_shared_piece(first + 2 * step * Shape::kPanelBytes, turned ? high : low);
      store_shared_piece(second + 2 * step * Shape::kPanelBytes, turned ? low : high);
    }
  }

 private:
  static constexpr int kTurns = Shape::kWarpEntries / 4;
  static constexpr int kPieces = Shape::kNope / 16, kSteps = (kPieces + 7) / 8;
  /// Of the whole record, where it has a footer; else lanes 0 to 3 and 4 to 7 have one each, a step's.
  using Scales = std::conditional_t<Shape::kFooter, uint2, float>;

  [[nodiscard]] __device__ bool has(int step) const {
    return kPieces % 8 == 0 || 8 * step + column_ < kPieces;
  }
  [[nodiscard]] __device__ float scale_at(int turn, int step) const {
    if constexpr (Shape::kFooter)
      return scale_of<Shape>({scales_[turn].x, scales_[turn].y, 0, 0}, step, static_cast<std::uint32_t>(column_));
    else
      return __shfl_sync(~0u, scales_[turn], step, 4);
  }

  int column_;
  std::uint32_t raw_, first_, second_;
  Scales scales_[kTurns];
};

template <class Shape>
__device__ void bring(const SparseMlaArgs& args, const MlaShares& shares, const MlaHandOver<Shape>& over, int thread) {
  constexpr int kTurns = Shape::kWarpEntries / 4;
  const int warp = thread / 32, row = thread % 32 / 8, column = thread % 8;
  MlaQueries<Shape> queries(args, over, query_row(args, shares.share<Shape>(args, blockIdx.x)), thread);
  MlaList<Shape> list(args, shares, warp);
  std::conditional_t<Shape::kDecodes, MlaCodes<Shape>, MlaWideRecords<Shape>> records(Shape::kWarpEntries * warp + row,
                                                                                      column);
#pragma unroll 1
  for (std::int32_t n = 0; list.is_tile(); ++n) {
    over.wait_free(n);
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int entry = 4 * turn + row;
      records.load(args.pool.data, list.record(entry), Shape::kFooter ? list.footer(entry) : 0, over.tile(n), turn);
    }
    commit_copies();
    put_attended(over, n, warp, list.attended());
    const std::int64_t first_row = list.begins_share() ? list.query_row() : -1;
    // Behind the share's first tile, whose place is free earlier.
    if (first_row >= 0 && n == 0) queries.bring(first_row);
    list.next();
    wait_for_copies<0>();
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) records.decode(over.tile(n), turn);
    publish_to_tensor_cores();
    arrive(over.full(n));
    if (first_row >= 0 && n > 0) queries.bring(first_row);
  }
}

}  // namespace refrain::device
