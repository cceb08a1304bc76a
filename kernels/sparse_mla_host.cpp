// The twins of the sparse MLA kernels: tiles of `chunk` entries, shared by all heads
// of a row; K and V are rounded to bf16 as they are decoded, P before it meets V,
// all else is fp32. An entry that is not attended enters as zeros and is not read.
// The faults stand where the kernels that had them went wrong.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/sparse_mla.hpp"

namespace refrain {
namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();
constexpr float kSentinel = -1e30f;
constexpr std::int32_t kMaxChunk = 64, kLanes = 16;

float round_bf16(float value) noexcept {
  return bf16_to_float(float_to_bf16(value));
}

/// A record's pool.dim() values, as the MMA takes them.
void decode_record(const MlaPoolView& pool, std::int64_t slot, float* out) {
  const std::byte* from = pool.data + pool.record_offset(slot);
  if (pool.record == MlaRecord::bf16) return decode_to_float(from, Dtype::bf16, 0, pool.dim(), out);
  const bool footer = pool.record == MlaRecord::e4m3_584;
  const std::int32_t nope = pool.nope(), group = footer ? 64 : 128;
  decode_to_float(from, Dtype::e4m3, 0, nope, out);
  const std::byte* scales = footer ? pool.data + pool.footer_offset(slot) : from + nope;
  for (std::int32_t d = 0; d < nope; ++d) {
    const std::int32_t g = d / group;
    out[d] = round_bf16(out[d] * (footer ? ue8m0_to_float(std::to_integer<std::uint8_t>(scales[g]))
                                         : load_as_float(scales, Dtype::fp32, g)));
  }
  const std::byte* rope = footer ? from + nope : from + nope + 4 * static_cast<std::int64_t>(sizeof(float));
  decode_to_float(rope, Dtype::bf16, 0, kMlaRope, out + nope);
}

/// One head's running softmax and its accumulator. The sum of p as it enters the product divides the output, so that
/// equal values come out as they are; the LSE is of p unrounded.
struct Head {
  float max = kNegativeInf, sum = 0, unrounded = 0;
  float acc[kMlaValueDim] = {};
};

class Row {
 public:
  Row(const SparseMlaArgs& args, std::int32_t row)
      : args_(args),
        dim_(args.pool.dim()),
        list_(args.indices + std::int64_t{row} * args.topk),
        length_(args.topk),
        q_(static_cast<std::size_t>(args.heads) * static_cast<std::size_t>(dim_)),
        k_(static_cast<std::size_t>(dim_) * kMaxChunk),
        v_(static_cast<std::size_t>(dim_) * kMaxChunk) {
    if (args.lengths != nullptr && !args.faults.past_length) length_ = std::clamp(args.lengths[row], 0, args.topk);
    decode_to_float(args.q, Dtype::bf16, row * static_cast<std::int64_t>(q_.size()),
                    static_cast<std::int64_t>(q_.size()), q_.data());
  }

  /// Attends entries [begin, end) from nothing; false where none of them is attended (and no fault takes them in).
  bool attend(std::int32_t begin, std::int32_t end) {
    const SparseMlaFaults& faults = args_.faults;
    const bool whole = faults.clamp_to_slot0 || faults.neg_inf_max || faults.mask_before_scale;
    if (!whole) end = std::min(end, length_);
    heads.assign(static_cast<std::size_t>(args_.heads), {});
    for (Head& head : heads) head.max = faults.neg_inf_max || !faults.mask_before_scale ? kNegativeInf : kSentinel;
    bool any = whole && begin < end;
    for (; begin < end; begin += args_.chunk) {
      load_tile(begin, end);
      any = any || std::any_of(attended_, attended_ + args_.chunk, [](bool attended) { return attended; });
      for (std::size_t h = 0; h < heads.size(); ++h)
        attend_tile(heads[h], q_.data() + h * static_cast<std::size_t>(dim_));
    }
    return any;
  }

  std::vector<Head> heads;

 private:
  void load_tile(std::int32_t begin, std::int32_t end) {
    for (std::int32_t r = 0; r < args_.chunk; ++r) {
      const std::int32_t at = begin + r;
      std::int64_t slot = at < end ? list_[at] : -1;
      attended_[r] = at < end && at < length_ && slot >= 0 && slot < args_.pool.slots();
      if (!attended_[r] && args_.faults.clamp_to_slot0) slot = 0;
      float* record = v_.data() + std::int64_t{r} * dim_;
      if (attended_[r] || args_.faults.clamp_to_slot0)
        decode_record(args_.pool, slot, record);
      else
        std::fill_n(record, dim_, 0.0f);
      for (std::int32_t d = 0; d < dim_; ++d)
        k_[static_cast<std::size_t>(d) * kMaxChunk + static_cast<std::size_t>(r)] = record[d];
    }
  }

  void score(const float* q, float* scores) const {
    for (std::int32_t first = 0; first < args_.chunk; first += kLanes) {
      float lanes[kLanes] = {};
      const float* k = k_.data() + first;
      for (std::int32_t d = 0; d < dim_; ++d, k += kMaxChunk)
        for (std::int32_t r = 0; r < kLanes; ++r) lanes[r] += q[d] * k[r];
      for (std::int32_t r = 0; r < kLanes; ++r) scores[first + r] = lanes[r] * args_.softmax_scale;
    }
  }

  /// The score and, from it, the weight of what is not attended: nothing, or what a fault makes of it.
  [[nodiscard]] float masked_score() const {
    if (args_.faults.neg_inf_max || !args_.faults.mask_before_scale) return kNegativeInf;
    return kSentinel * args_.softmax_scale;
  }

  void attend_tile(Head& head, const float* q) const {
    const bool by_number = args_.faults.neg_inf_max || args_.faults.mask_before_scale;
    float scores[kMaxChunk], p[kMaxChunk];
    score(q, scores);
    float max = head.max;
    for (std::int32_t r = 0; r < args_.chunk; ++r) {
      if (!attended_[r]) scores[r] = masked_score();
      max = std::fmax(max, scores[r]);
    }
    // -inf - -inf is NaN; from 0 every p is 0.
    const float base = max == kNegativeInf && !args_.faults.neg_inf_max ? 0.0f : max;
    const float rescale = std::exp(head.max - base);
    head.max = max;
    head.sum *= rescale;
    head.unrounded *= rescale;
    for (std::int32_t r = 0; r < args_.chunk; ++r) {
      const float weight = attended_[r] || by_number ? std::exp(scores[r] - base) : 0.0f;
      p[r] = round_bf16(weight);
      head.sum += p[r];
      head.unrounded += weight;
    }
    accumulate(head, rescale, p);
  }

  /// acc = acc * rescale + p @ V over all entries of the tile, zeros of p included: 0 * NaN is NaN, as in an MMA.
  void accumulate(Head& head, float rescale, const float* p) const {
    for (std::int32_t first = 0; first < kMlaValueDim; first += kLanes) {
      float sums[kLanes];
      for (std::int32_t i = 0; i < kLanes; ++i) sums[i] = head.acc[first + i] * rescale;
      const float* v = v_.data() + first;
      for (std::int32_t r = 0; r < args_.chunk; ++r, v += dim_)
        for (std::int32_t i = 0; i < kLanes; ++i) sums[i] += p[r] * v[i];
      std::copy_n(sums, kLanes, head.acc + first);
    }
  }

  const SparseMlaArgs& args_;
  std::int32_t dim_;
  const std::int32_t* list_;
  std::int32_t length_;
  std::vector<float> q_, k_, v_;  ///< k_ is [dim, kMaxChunk], v_ [chunk, dim]: the same values
  bool attended_[kMaxChunk] = {};
};

std::int32_t real_rows(const SparseMlaArgs& args) {
  return args.real_rows == nullptr ? args.rows : std::clamp(*args.real_rows, 0, args.rows);
}

/// A sum of 0 is a row that attended nothing: zeros stay zeros, and what a fault made NaN stays NaN.
float factor_of(float sum) noexcept {
  return sum == 0.0f ? 0.0f : 1.0f / sum;
}

void store_row(const SparseMlaArgs& args, std::int64_t at, const Head& head, float sink) {
  const float top = std::fmax(head.max, sink), base = top == kNegativeInf ? 0.0f : top;
  const float rescale = head.sum == 0.0f ? 0.0f : std::exp(head.max - base), of_sink = std::exp(sink - base);
  const float factor = rescale * factor_of(head.sum * rescale + of_sink);
  for (std::int64_t d = 0; d < kMlaValueDim; ++d)
    store_from_float(args.out, Dtype::bf16, at * kMlaValueDim + d, head.acc[d] * factor);
  args.lse[at] = top + std::log(head.unrounded * rescale + of_sink);
  if (args.max_logits != nullptr) args.max_logits[at] = head.max;
}

void store_split(const SparseMlaArgs& args, std::int64_t at, const Head& head, bool any) {
  args.partial_lse[at] = any ? head.max + std::log(head.unrounded) : kNegativeInf;
  if (args.partial_max != nullptr) args.partial_max[at] = any ? head.max : kNegativeInf;
  if (!any) return;
  const float factor = factor_of(head.sum);
  for (std::int64_t d = 0; d < kMlaValueDim; ++d) args.partials[at * kMlaValueDim + d] = head.acc[d] * factor;
}

}  // namespace

void sparse_mla_prefill_host(const SparseMlaArgs& args) {
  const std::int32_t real = real_rows(args);
  for (std::int32_t r = 0; r < args.rows; ++r) {
    const std::int64_t first = std::int64_t{r} * args.heads;
    if (r >= real) {
      for (std::int32_t h = 0; h < args.heads; ++h) store_row(args, first + h, {}, kNegativeInf);
      continue;
    }
    Row row(args, r);
    row.attend(0, args.topk);
    for (std::int32_t h = 0; h < args.heads; ++h)
      store_row(args, first + h, row.heads[static_cast<std::size_t>(h)],
                args.sinks == nullptr ? kNegativeInf : args.sinks[h]);
  }
}

void sparse_mla_decode_host(const SparseMlaArgs& args) {
  const std::int32_t real = real_rows(args);
  for (std::int32_t r = 0; r < args.rows; ++r) {
    const std::int64_t first = std::int64_t{r} * args.heads;
    if (r >= real) {
      for (std::int64_t at = first * args.splits; at < (first + args.heads) * args.splits; ++at)
        store_split(args, at, {}, false);
      continue;
    }
    Row row(args, r);
    for (std::int32_t s = 0; s < args.splits; ++s) {
      const std::int64_t begin = std::int64_t{s} * args.split_entries;
      const auto end = std::min<std::int64_t>(begin + args.split_entries, args.topk);
      const bool any = begin < end && row.attend(static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end));
      for (std::int32_t h = 0; h < args.heads; ++h)
        store_split(args, (first + h) * args.splits + s, any ? row.heads[static_cast<std::size_t>(h)] : Head{}, any);
    }
  }
}

}  // namespace refrain
