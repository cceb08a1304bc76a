#include "kernels/rope_append.hpp"

#include <cstring>

#include "kernels/host_append.hpp"
#include "kernels/host_rotation.hpp"
#include "kernels/host_selection.hpp"
#include "kernels/host_twins.hpp"

namespace refrain {
namespace {

/// One row; sizes in bytes of the dtype.
class Row {
 public:
  Row(const RopeAppendArgs& args, std::int64_t row)
      : args_(args),
        head_bytes_(static_cast<std::size_t>(args.pool.dim) * dtype_bytes(args.dtype)),
        turns_(turns_at(args.batch.query_pos[row], args.theta, args.rotary_dim)),
        in_(static_cast<const std::byte*>(args.qkv) +
            static_cast<std::size_t>(row * (args.heads + 2 * std::int64_t{args.pool.kv_heads})) * head_bytes_) {}

  void rotate_q(std::byte* q) const {
    std::memcpy(q, in_, static_cast<std::size_t>(args_.heads) * head_bytes_);
    for (std::int64_t head = 0; head < args_.heads; ++head) rotate_head(q, args_.dtype, head * args_.pool.dim, turns_);
  }

  void append(std::int64_t slot) const {
    const KvPoolView& pool = args_.pool;
    std::vector<std::byte> k(head_bytes_);
    for (std::int64_t head = 0; head < pool.kv_heads; ++head) {
      const std::int64_t k_from = args_.heads + head, v_from = k_from + pool.kv_heads;
      const std::int64_t to = pool.slot_offset(slot) + head * pool.dim;
      std::memcpy(k.data(), in_ + static_cast<std::size_t>(k_from) * head_bytes_, head_bytes_);
      rotate_head(k.data(), args_.dtype, 0, turns_);
      append_head(pool, to, k.data(), args_.dtype, 0, *args_.k_scale);
      append_head(pool, to + pool.plane_elements(), in_, args_.dtype, v_from * pool.dim, *args_.v_scale);
    }
  }

 private:
  const RopeAppendArgs& args_;
  std::size_t head_bytes_;
  std::vector<Turn> turns_;
  const std::byte* in_;
};

}  // namespace

void rope_append_host(const RopeAppendArgs& args) {
  const std::size_t q_bytes =
      static_cast<std::size_t>(args.heads) * static_cast<std::size_t>(args.pool.dim) * dtype_bytes(args.dtype);
  const std::int32_t rows = real_rows(args.batch);
  for (std::int32_t row = 0; row < args.batch.bucket; ++row) {
    std::byte* q = static_cast<std::byte*>(args.q) + static_cast<std::size_t>(row) * q_bytes;
    if (row >= rows) {
      std::memset(q, 0, q_bytes);
      continue;
    }
    const Row of_qkv(args, row);
    of_qkv.rotate_q(q);
    if (const std::int64_t slot = append_slot(args.batch, args.pool, row); slot != kNoSlot) of_qkv.append(slot);
  }
}

}  // namespace refrain
