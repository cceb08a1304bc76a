#include "tests/runtime/model/attention_only_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/transfer.hpp"
#include "tests/runtime/model/formats.hpp"

namespace refrain::test {
namespace {

enum Kind { kDense, kSparse, kMla };

using Row = std::vector<double>;

double dot(const double* a, const double* b, std::size_t count) {
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

/// w is [n, x.size()].
Row times(const Row& x, const Row& w) {
  Row out;
  for (std::size_t first = 0; first < w.size(); first += x.size()) out.push_back(dot(x.data(), &w[first], x.size()));
  return out;
}

Row rounded(Row values, Dtype dtype) {
  for (double& value : values) value = test::rounded(value, dtype);
  return values;
}

/// 0 .. count - 1 without the oldest ones behind the first `sinks`, until `most` are left.
std::vector<std::size_t> recent(std::size_t count, std::size_t most, std::size_t sinks) {
  std::vector<std::size_t> kept(count);
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  if (count > most) {
    const auto first = kept.begin() + static_cast<std::ptrdiff_t>(sinks);
    kept.erase(first, first + static_cast<std::ptrdiff_t>(count - most));
  }
  return kept;
}

}  // namespace

AttentionOnlyOracle::AttentionOnlyOracle(Driver& driver, const AttentionOnlyModel& model) : shape_(model.shape()) {
  const AttentionOnlyMemory& m = model.memory();
  const auto read = [&](const Lease& lease, std::int64_t count) {
    return read_back(driver, lease, shape_.dtype(), count);
  };
  embedding_ = read(m.embedding, std::int64_t{shape_.vocab} * shape_.width);
  final_norm_ = read(m.final_norm, shape_.width);
  head_ = read(m.head, std::int64_t{shape_.vocab} * shape_.width);
  for (const AttentionOnlyLayer& layer : m.layers) add_layer(driver, layer);
}

void AttentionOnlyOracle::add_layer(Driver& driver, const AttentionOnlyLayer& from) {
  Layer layer;
  layer.kind = static_cast<int>(layers_.size() % 3);
  const auto size = [](std::int32_t count) { return static_cast<std::size_t>(count); };
  const std::size_t latent = shape_.record == MlaRecord::e4m3_584 ? 512 : 576;
  if (layer.kind == kDense)
    layer.heads = size(shape_.heads), layer.kv_heads = size(shape_.kv_heads), layer.dim = size(shape_.dim);
  if (layer.kind == kSparse) layer.heads = 6, layer.kv_heads = 1, layer.dim = 256;
  if (layer.kind == kMla) layer.heads = 16, layer.kv_heads = 1, layer.dim = latent;
  layer.value_dim = layer.kind == kMla ? 512 : layer.dim;
  layer.dtype = layer.kind == kMla || shape_.kv == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16;
  const auto read = [&](const Lease& lease, std::size_t rows, std::size_t columns) {
    return read_back(driver, lease, layer.dtype, static_cast<std::int64_t>(rows * columns));
  };
  const std::size_t width = size(shape_.width);
  layer.norm = read_back(driver, from.norm, shape_.dtype(), shape_.width);
  layer.q = read(from.q, layer.heads * layer.dim, width);
  layer.k = read(from.k, layer.kv_heads * layer.dim, width);
  layer.o = read(from.o, width, layer.heads * layer.value_dim);
  if (layer.kind != kMla) {
    layer.v = read(from.v, layer.kv_heads * layer.dim, width);
    float scales[2];
    read_device(driver, std::as_writable_bytes(std::span(scales)), from.scales.address());
    layer.k_scale = scales[0], layer.v_scale = scales[1];
  }
  layers_.push_back(std::move(layer));
}

AttentionOnlyOracle::Row AttentionOnlyOracle::norm(const Row& x, const Row& weight, bool weighted) const {
  const double scale = 1 / std::sqrt(dot(x.data(), x.data(), x.size()) / static_cast<double>(x.size()) + 1e-5);
  Row out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] * scale * (weighted ? weight[i] : 1));
  return rounded(out, shape_.dtype());
}

/// What a pool's record gives back of a latent row.
AttentionOnlyOracle::Row AttentionOnlyOracle::record(const Row& latent) const {
  if (shape_.record == MlaRecord::bf16) return latent;
  const std::size_t nope = latent.size() - 64, group = shape_.record == MlaRecord::e4m3_656 ? 128 : 64;
  Row out = latent;
  for (std::size_t first = 0; first < nope; first += group) {
    double largest = 0;
    for (std::size_t i = first; i < first + group; ++i) largest = std::max(largest, std::abs(latent[i]));
    double scale = largest == 0 ? 1 : largest / 448;
    scale = shape_.record == MlaRecord::e4m3_656 ? static_cast<double>(static_cast<float>(scale))
                                                 : std::exp2(std::ceil(std::log2(scale)));
    for (std::size_t i = first; i < first + group; ++i) out[i] = test::rounded(latent[i] / scale, Dtype::e4m3) * scale;
  }
  return out;
}

std::vector<std::size_t> AttentionOnlyOracle::attended(const Layer& layer, std::size_t seen,
                                                       WrongAttention wrong) const {
  if (layer.kind == kDense) {
    if (wrong == WrongAttention::window && seen > 1) --seen;
    return recent(seen, seen, 0);
  }
  if (layer.kind == kMla) {
    const auto most = static_cast<std::size_t>(shape_.topk) - (wrong == WrongAttention::topk ? 16 : 0);
    return recent(seen, most,
                  static_cast<std::size_t>(shape_.sink_tokens) - (wrong == WrongAttention::sink_tokens ? 1 : 0));
  }
  const auto most = static_cast<std::size_t>(shape_.blocks) - (wrong == WrongAttention::blocks ? 1 : 0);
  const std::size_t sinks =
      static_cast<std::size_t>(shape_.sink_blocks) - (wrong == WrongAttention::sink_blocks ? 1 : 0);
  std::vector<std::size_t> tokens;
  for (const std::size_t block : recent(seen / 4, most, sinks))
    for (std::size_t i = 0; i < 4; ++i) tokens.push_back(4 * block + i);
  if (wrong == WrongAttention::tail && seen >= 4) return tokens;
  for (std::size_t token = seen / 4 * 4; token < seen; ++token) tokens.push_back(token);
  return tokens;
}

AttentionOnlyOracle::Row AttentionOnlyOracle::head(const Layer& layer, const Row& q, std::size_t head,
                                                   const std::vector<Row>& keys, const std::vector<Row>& values,
                                                   const std::vector<std::size_t>& tokens, WrongAttention wrong) const {
  const std::size_t kv_head = wrong == WrongAttention::kv_heads ? 0 : head / (layer.heads / layer.kv_heads);
  const bool short_key = layer.kind == kMla && wrong == WrongAttention::rope;
  Row p;
  for (const std::size_t token : tokens)
    p.push_back(dot(&q[head * layer.dim], &keys[token][kv_head * layer.dim], layer.dim - (short_key ? 64 : 0)) /
                std::sqrt(static_cast<double>(layer.dim)));
  const double max = *std::max_element(p.begin(), p.end());
  double total = 0;
  for (double& e : p) total += e = std::exp(e - max);
  Row out(layer.value_dim, 0);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const double weight = p[i] / total;
    const double* value = &values[tokens[i]][kv_head * layer.value_dim];
    for (std::size_t d = 0; d < layer.value_dim; ++d) out[d] += weight * value[d];
  }
  return rounded(out, layer.dtype);
}

void AttentionOnlyOracle::attend(const Layer& layer, std::vector<Row>& residual, WrongAttention wrong) const {
  std::vector<Row> keys, values;
  const bool is_mla = layer.kind == kMla;
  for (std::size_t t = 0; t < residual.size(); ++t) {
    const Row x = rounded(norm(residual[t], layer.norm, wrong != WrongAttention::norm), layer.dtype);
    const Row q = rounded(times(x, layer.q), layer.dtype);
    Row k = rounded(times(x, layer.k), layer.dtype);
    if (is_mla) {
      keys.push_back(record(k));
    } else {
      Row v = rounded(times(x, layer.v), layer.dtype);
      for (double& e : k) e = test::rounded(e / layer.k_scale, shape_.kv) * layer.k_scale;
      for (double& e : v) e = test::rounded(e / layer.v_scale, shape_.kv) * layer.v_scale;
      keys.push_back(std::move(k)), values.push_back(std::move(v));
    }
    const std::vector<std::size_t> tokens = attended(layer, t + 1, wrong);
    Row out;
    for (std::size_t h = 0; h < layer.heads; ++h) {
      const Row of_head = head(layer, q, h, keys, is_mla ? keys : values, tokens, wrong);
      out.insert(out.end(), of_head.begin(), of_head.end());
    }
    if (wrong == WrongAttention::residual && layer.kind == kDense) continue;
    const Row branch = rounded(rounded(times(out, layer.o), layer.dtype), shape_.dtype());
    for (std::size_t i = 0; i < branch.size(); ++i)
      residual[t][i] = test::rounded(residual[t][i] + branch[i], shape_.dtype());
  }
}

std::vector<std::vector<double>> AttentionOnlyOracle::logits(const std::vector<std::int32_t>& tokens,
                                                             WrongAttention wrong) const {
  std::vector<Row> residual;
  for (const std::int32_t token : tokens) {
    const auto first = embedding_.begin() + std::int64_t{token} * shape_.width;
    residual.emplace_back(first, first + shape_.width);
  }
  for (std::size_t i = 0; i + (wrong == WrongAttention::layers ? 1 : 0) < layers_.size(); ++i)
    attend(layers_[i], residual, wrong);
  std::vector<Row> out;
  for (const Row& row : residual) out.push_back(times(norm(row, final_norm_, true), head_));
  return out;
}

}  // namespace refrain::test
