// A batch of index lists over a paged pool of MLA records, with everything that
// must not matter poisoned: every record that no row attends is 0xFF, slot 0 with
// them, and so are outputs and partials before each run. Tests lay the lists, fill
// what they attend, run a route and compare with the fp64 oracle.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/merge_mla.hpp"
#include "kernels/mla_oracle.hpp"
#include "kernels/sparse_mla.hpp"
#include "tests/kernels/memory.hpp"
#include "tests/kernels/scene.hpp"

namespace refrain::test {

struct MlaShape {
  std::int32_t rows = 3, pad_rows = 0, heads = 16, topk = 128;
  MlaRecord record = MlaRecord::bf16;
  std::int32_t page_size = 64;
  std::int64_t pages = 8;
  std::int32_t chunk = 64, split_chunks = 1;  ///< chunks a split of the decode route
  bool sinks = false;
};

enum class MlaRoute : std::uint8_t { prefill, decode };
inline constexpr MlaRoute kMlaRoutes[] = {MlaRoute::prefill, MlaRoute::decode};
inline constexpr MlaRecord kMlaRecords[] = {MlaRecord::bf16, MlaRecord::e4m3_656, MlaRecord::e4m3_584};

struct MlaScene {
  /// `pool_data`: memory of the caller's for the pool, as it is; null: the scene's own, all 0xFF.
  MlaScene(const MlaShape& shape, Rng& rng, std::byte* pool_data = nullptr);

  [[nodiscard]] std::int32_t* list(std::int32_t row) { return indices + std::int64_t{row} * shape.topk; }
  /// Random slots, never slot 0 and distinct while there are enough, at entries [begin, end) of the row's list.
  void put_random(std::int32_t row, std::int32_t begin, std::int32_t end, Rng& rng);
  /// Random values in every record that a row attends.
  void fill_attended(Rng& rng);
  void fill_slot(std::int64_t slot, Rng& rng);
  /// The bytes of a record, its footer with it.
  void set_slot_bytes(std::int64_t slot, const std::vector<std::uint8_t>& bytes);

  /// What the lists say, read as a person would: of the real rows alone.
  [[nodiscard]] std::vector<MlaOracleRow> attended() const;
  [[nodiscard]] MlaProblem problem() const;
  /// Poisons outputs and partials, then runs the twins.
  void run(MlaRoute route);
  void poison_outputs();
  [[nodiscard]] std::int64_t row_values() const { return std::int64_t{shape.heads} * kMlaValueDim; }
  [[nodiscard]] float out_value(std::int64_t index) const;
  /// Is every value of the row's output NaN, or is none of them? Fails the test for a mixture.
  [[nodiscard]] bool is_nan_row(std::int32_t row) const;
  [[nodiscard]] bool is_finite_row(std::int32_t row) const;
  /// Output zeros, LSE and largest logit -inf for every head.
  [[nodiscard]] bool is_empty_row(std::int32_t row) const;

  Memory memory;
  MlaShape shape;
  SparseMlaArgs args;
  MergeMlaArgs merge;
  std::int32_t* indices = nullptr;
  std::int32_t* lengths = nullptr;
  std::int32_t* real_rows = nullptr;
  float* sinks = nullptr;
  std::byte* q = nullptr;
  double largest_v = 3.5;

 private:
  void take_outputs();
};

/// The worst distances from the oracle, each in units of its bound: at most 1 is right; NaN counts as infinite.
struct MlaCompared {
  double out = 0;         ///< one step of bf16, and what rounding P to 8 bits moves a mean of V
  double lse = 0;         ///< 1e-3
  double max_logits = 0;  ///< 1e-3
};
[[nodiscard]] MlaCompared compare(const MlaScene& scene);

/// Every real row is right, every pad row empty.
void require_right(const MlaScene& scene);

}  // namespace refrain::test
