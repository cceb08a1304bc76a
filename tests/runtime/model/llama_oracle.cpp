#include "tests/runtime/model/llama_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/transfer.hpp"
#include "tests/runtime/model/formats.hpp"

namespace refrain::test {

LlamaOracle::LlamaOracle(Driver& driver, const LlamaModel& model) : shape_(model.shape()) {
  const LlamaShape& s = shape_;
  const LlamaMemory& m = model.memory();
  const std::int64_t q = std::int64_t{s.heads} * s.dim, kv = std::int64_t{s.kv_heads} * s.dim, w = s.width;
  const auto read = [&](const Lease& lease, std::int64_t count) { return read_back(driver, lease, s.dtype(), count); };
  embedding_ = read(m.embedding, s.vocab * w);
  final_norm_ = read(m.final_norm, w);
  head_ = read(m.head, s.vocab * w);
  for (const LlamaLayer& layer : m.layers) {
    float scales[2];
    read_device(driver, std::as_writable_bytes(std::span(scales)), layer.scales.address());
    const Row qkv = read(layer.qkv, (q + 2 * kv) * w);  // row by row: Wq's, then Wk's, then Wv's
    const auto k_at = qkv.begin() + q * w, v_at = k_at + kv * w;
    layers_.push_back({read(layer.attention_norm, w), read(layer.ffn_norm, w), Row(qkv.begin(), k_at), Row(k_at, v_at),
                       Row(v_at, qkv.end()), read(layer.o, q * w), read(layer.gate_up, 2 * s.ffn * w),
                       read(layer.down, s.ffn * w), scales[0], scales[1]});
  }
}

LlamaOracle::Row LlamaOracle::norm(const Row& x, const Row& weight) const {
  double squares = 0;
  for (const double v : x) squares += v * v;
  const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
  Row out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(rounded(x[i] * scale * weight[i], shape_.dtype()));
  return out;
}

LlamaOracle::Row LlamaOracle::linear(const Row& x, const Row& w, bool round) const {
  Row out;
  for (std::size_t first = 0; first < w.size(); first += x.size()) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * w[first + i];
    out.push_back(round ? rounded(sum, shape_.dtype()) : sum);
  }
  return out;
}

void LlamaOracle::turn(Row& heads, std::int64_t position) const {
  const auto dim = static_cast<std::size_t>(shape_.dim), half = dim / 2;
  for (std::size_t first = 0; first < heads.size(); first += dim)
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) *
                           std::pow(shape_.theta, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
      double &a = heads[first + i], &b = heads[first + half + i];
      const double x = a * std::cos(angle) - b * std::sin(angle), y = b * std::cos(angle) + a * std::sin(angle);
      a = rounded(x, shape_.dtype()), b = rounded(y, shape_.dtype());
    }
}

double LlamaOracle::stored(double value, double scale) const {
  return rounded(value / scale, shape_.kv) * scale;
}

void LlamaOracle::add(Row& residual, const Row& branch) const {
  for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = rounded(residual[i] + branch[i], shape_.dtype());
}

void LlamaOracle::attend(const Layer& layer, std::vector<Row>& residual, Wrong wrong) const {
  const auto dim = static_cast<std::size_t>(shape_.dim), heads = static_cast<std::size_t>(shape_.heads);
  const std::size_t ratio = heads / static_cast<std::size_t>(shape_.kv_heads);
  std::vector<Row> keys, values;
  for (std::size_t t = 0; t < residual.size(); ++t) {
    Row weight = layer.attention_norm;
    if (wrong == Wrong::attention_norm) std::fill(weight.begin(), weight.end(), 1);
    const Row x = norm(residual[t], weight);
    Row q = linear(x, layer.q), k = linear(x, layer.k), v = linear(x, layer.v);
    const auto position = static_cast<std::int64_t>(t);
    turn(q, position);
    turn(k, position + (wrong == Wrong::rope ? 1 : 0));
    for (double& e : k) e = stored(e, layer.k_scale);
    for (double& e : v) e = wrong == Wrong::kv_scale ? stored(e, 1) * layer.v_scale : stored(e, layer.v_scale);
    keys.push_back(std::move(k)), values.push_back(std::move(v));
    const std::size_t seen = wrong == Wrong::window && t > 0 ? t : t + 1;
    Row out(heads * dim, 0);
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t kv = wrong == Wrong::kv_heads ? 0 : h / ratio * dim;
      Row p(seen, 0);
      for (std::size_t j = 0; j < seen; ++j) {
        for (std::size_t d = 0; d < dim; ++d) p[j] += q[h * dim + d] * keys[j][kv + d];
        p[j] /= std::sqrt(static_cast<double>(dim));
      }
      const double max = *std::max_element(p.begin(), p.end());
      double total = 0;
      for (double& e : p) total += e = std::exp(e - max);
      for (std::size_t j = 0; j < seen; ++j)
        for (std::size_t d = 0; d < dim; ++d) out[h * dim + d] += p[j] / total * values[j][kv + d];
    }
    for (double& e : out) e = rounded(e, shape_.dtype());
    if (wrong != Wrong::residual) add(residual[t], linear(out, layer.o));
  }
}

void LlamaOracle::feed_forward(const Layer& layer, std::vector<Row>& residual, Wrong wrong) const {
  const auto ffn = static_cast<std::size_t>(shape_.ffn);
  for (Row& row : residual) {
    const Row both = linear(norm(row, layer.ffn_norm), layer.gate_up);
    Row gated;
    for (std::size_t i = 0; i < ffn; ++i) {
      const double gate = both[wrong == Wrong::gate ? ffn + i : i], up = both[wrong == Wrong::gate ? i : ffn + i];
      gated.push_back(rounded(gate / (1 + std::exp(-gate)) * up, shape_.dtype()));
    }
    add(row, linear(gated, layer.down));
  }
}

std::vector<std::vector<double>> LlamaOracle::logits(const std::vector<std::int32_t>& tokens, Wrong wrong) const {
  std::vector<Row> residual;
  for (const std::int32_t token : tokens) {
    const auto first = embedding_.begin() + std::int64_t{token} * shape_.width;
    residual.emplace_back(first, first + shape_.width);
  }
  for (std::size_t i = 0; i + (wrong == Wrong::layers ? 1 : 0) < layers_.size(); ++i) {
    attend(layers_[i], residual, wrong);
    feed_forward(layers_[i], residual, wrong);
  }
  std::vector<Row> out;
  for (const Row& row : residual) out.push_back(linear(norm(row, final_norm_), head_, false));
  return out;
}

}  // namespace refrain::test
