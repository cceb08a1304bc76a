// A random batch over a paged pool, with everything that must not matter poisoned:
// page 0, unused pages and tails hold 0xFF, table entries past a length hold
// INT_MAX or stale page ids, pad rows hold garbage. Tests build one, pick a
// selection, run ops and compare with the fp64 oracle.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/attention_oracle.hpp"
#include "kernels/grouped_attention.hpp"
#include "kernels/pad_fix.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/xqa_decode.hpp"
#include "tests/kernels/memory.hpp"

namespace refrain::test {

using Rng = std::mt19937_64;

/// A seed of this run; INFO it.
std::uint64_t fresh_seed();

struct SceneShape {
  std::vector<std::int32_t> lengths = {2048};  ///< seq_len of each request
  std::vector<std::int32_t> rows = {19};       ///< query rows of each request: its last tokens
  std::int32_t pad_rows = 0;
  std::int32_t page_size = 32;
  std::int32_t heads = kGroupedHeads, kv_heads = 1, dim = 256;
  Dtype kv_dtype = Dtype::e4m3, q_dtype = Dtype::fp16;
  float k_scale = 0.5f, v_scale = 0.25f;
};

struct Scene {
  Scene(const SceneShape& shape, Rng& rng);

  /// Row r selects complete blocks (all that are visible, or 512 of them at random) and its causal tail.
  void select(Rng& rng);
  /// Rows select the first 512 visible blocks; no randomness, for counts that depend on the geometry alone.
  void select_first();

  /// Logical tokens of a row's selection, read from `selected` as a person would.
  [[nodiscard]] std::vector<std::int64_t> selected_tokens(std::int32_t row) const;
  [[nodiscard]] std::vector<std::int64_t> visible_tokens(std::int32_t row) const;
  [[nodiscard]] OracleRow oracle_row(std::int32_t row, std::vector<std::int64_t> tokens) const;
  [[nodiscard]] OracleProblem problem() const;
  [[nodiscard]] std::byte* k_row(std::int32_t request, std::int64_t token, std::int32_t kv_head = 0) const;
  [[nodiscard]] std::byte* v_row(std::int32_t request, std::int64_t token, std::int32_t kv_head = 0) const;
  [[nodiscard]] std::int32_t groups() const { return (batch.bucket + kGroupRows - 1) / kGroupRows; }

  Memory memory;
  SceneShape shape;
  KvPoolView pool;
  BatchView batch;
  std::int32_t* rows = nullptr;
  std::int32_t* token_to_req = nullptr;
  std::int64_t* query_pos = nullptr;
  std::int32_t* seq_len = nullptr;
  std::int32_t* page_table = nullptr;
  std::byte* q = nullptr;
  std::int32_t* selected = nullptr;
  float* k_scale = nullptr;
  float* v_scale = nullptr;
  float softmax_scale = 0;

 private:
  void fill_tables(Rng& rng);
  void fill_pool(Rng& rng);
  void select_row(std::int32_t row, const std::vector<std::int32_t>& blocks);
};

/// Outputs and plan of one way through the ops, all in the scene's memory.
struct GroupedRun {
  explicit GroupedRun(Scene& scene);
  void run(bool with_pad_fix, bool zero_unattended);

  PlanGroupedArgs plan;
  PadFixArgs fix;
  GroupedAttentionArgs attention;
  Scene& scene;
};

struct XqaRun {
  struct Options {
    bool dense = false;
    std::int32_t group_rows = 0, partition_tokens = 256, partitions = 9;
    std::int32_t counter_sets = 1;  ///< the decode goes by the first
    Dtype partial_dtype = Dtype::fp32;
  };
  XqaRun(Scene& scene, const Options& options);
  void run();

  PlanXqaArgs plan;
  XqaDecodeArgs decode;
};

/// How far an output may lie from the oracle: max(2.5e-4, one step of the dtype at |value|), and for bf16 also
/// what rounding P to 8 bits can move a mean of V: 2^-8 of the largest |V|.
[[nodiscard]] double tolerance(Dtype dtype, double value, double largest_v);

/// The worst |out - oracle| / tolerance over rows `[first, first + rows.size())` of `out`; NaN counts as infinite.
struct Compared {
  double out = 0;  ///< in units of the tolerance: at most 1 is right
  double lse = 0;  ///< in units of 1e-3 (fp16) or 4e-3 (bf16)
};
[[nodiscard]] Compared compare(const Scene& scene, const void* out, const float* lse,
                               const std::vector<OracleRow>& rows);

[[nodiscard]] bool is_nan(const void* data, Dtype dtype, std::int64_t index);

/// Lets every entry of a row be a token of its own choice: no block is whole, but by chance, and a row has up to 2,048
/// microblocks.
void scatter(Scene& scene, Rng& rng);

}  // namespace refrain::test
