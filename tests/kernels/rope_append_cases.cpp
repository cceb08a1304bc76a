#include <climits>
#include <cstring>

#include "kernels/kv_append.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/numbers.hpp"

namespace refrain::test {
namespace {

struct Shape {
  std::int32_t heads, kv_heads, dim, rotary_dim;
};

constexpr std::int32_t kPageSize = 64, kTablePages = (1 << 20) / kPageSize + 1, kRequests = 2;
constexpr std::int64_t kPages = 9;

/// Rows of two requests over poisoned pools; no table entry is a page but those that a test names. A row's `slot` is
/// where the test knows it to go, or -1.
struct Rows {
  Rows(Dtype type, const Shape& shape, double theta, std::vector<std::int64_t> positions, std::int32_t real)
      : dtype(type), bucket(static_cast<std::int32_t>(positions.size())), slot(positions.size(), -1) {
    const std::int64_t in = shape.heads + 2 * std::int64_t{shape.kv_heads};
    qkv = take_elements(memory, dtype, bucket * in * shape.dim);
    q = take_elements(memory, dtype, std::int64_t{bucket} * shape.heads * shape.dim);
    pool = take_elements(memory, dtype, kPages * 2 * kPageSize * shape.kv_heads * shape.dim);
    rows = memory.take<std::int32_t>(1);
    token_to_req = memory.take<std::int32_t>(bucket);
    query_pos = memory.take<std::int64_t>(bucket);
    seq_len = memory.take<std::int32_t>(kRequests);
    page_table = memory.take<std::int32_t>(std::int64_t{kRequests} * kTablePages);
    scales = memory.take<float>(2);
    *rows = real;
    std::fill_n(token_to_req, bucket, 0);
    std::copy(positions.begin(), positions.end(), query_pos);
    std::fill_n(seq_len, kRequests, (1 << 20) + 1);
    args = {.qkv = qkv,
            .dtype = dtype,
            .heads = shape.heads,
            .theta = theta,
            .rotary_dim = shape.rotary_dim,
            .pool = {pool, kPages, kPageSize, shape.kv_heads, shape.dim, dtype},
            .batch = {rows, token_to_req, query_pos, seq_len, page_table, bucket, kRequests, kTablePages},
            .k_scale = scales,
            .v_scale = scales + 1,
            .q = q};
  }

  [[nodiscard]] std::size_t bytes(std::int64_t count) const {
    return static_cast<std::size_t>(count) * dtype_bytes(dtype);
  }
  /// Of qkv, by the head's place in a row.
  [[nodiscard]] std::int64_t in(std::int32_t row, std::int32_t head) const {
    return (row * (args.heads + 2 * std::int64_t{args.pool.kv_heads}) + head) * args.pool.dim;
  }
  void put_page(std::int32_t row, std::int32_t page) {
    const std::int64_t token = query_pos[row];
    page_table[token_to_req[row] * kTablePages + token / kPageSize] = page;
    slot[static_cast<std::size_t>(row)] = std::int64_t{page} * kPageSize + token % kPageSize;
  }

  Memory memory;
  Dtype dtype;
  std::int32_t bucket;
  std::byte *qkv = nullptr, *q = nullptr, *pool = nullptr;
  std::int32_t *rows = nullptr, *token_to_req = nullptr, *seq_len = nullptr, *page_table = nullptr;
  std::int64_t* query_pos = nullptr;
  float* scales = nullptr;
  std::vector<std::int64_t> slot;
  RopeAppendArgs args;
};

/// Plain numbers in real rows and one pad row; the other pad rows stay NaN.
void fill_numbers(const Rows& r, Rng& rng) {
  fill_normal(r.qkv, r.dtype, 0, r.in(std::min(*r.rows + 1, r.bucket), 0), 1, rng);
}

/// Infinities, NaN of both signs and kinds, everything.
void fill_bits(const Rows& r, Rng& rng) {
  for (std::size_t i = 0; i < r.bytes(r.in(r.bucket, 0)); ++i) r.qkv[i] = static_cast<std::byte>(rng());
}

/// The turn in long double, from scratch: theta's power by its logarithm. What lies past the rotary part has its bits.
void require_turned(const Rows& r, std::int32_t row, std::int64_t from, const void* turned, std::int64_t at) {
  const std::int32_t half = r.args.rotary_dim / 2, tail = r.args.pool.dim - r.args.rotary_dim;
  for (std::int32_t i = 0; i < half; ++i) {
    const long double frequency = std::exp(-std::log(static_cast<long double>(r.args.theta)) * i / half);
    const long double angle = static_cast<long double>(r.query_pos[row]) * frequency;
    const auto cosine = static_cast<double>(std::cos(angle)), sine = static_cast<double>(std::sin(angle));
    const double low = load_as_float(r.qkv, r.dtype, from + i), high = load_as_float(r.qkv, r.dtype, from + half + i);
    const double want_low = low * cosine - high * sine, want_high = high * cosine + low * sine;
    // The stated error of the turn, and three roundings of fp32.
    const double slack = (kRopeTurnError + 3 * 0x1p-24) * (std::abs(low) + std::abs(high));
    CAPTURE(row, i, from);
    REQUIRE(std::abs(load_as_float(turned, r.dtype, at + i) - want_low) <=
            half_step(r.dtype, want_low) * 1.001 + slack);
    REQUIRE(std::abs(load_as_float(turned, r.dtype, at + half + i) - want_high) <=
            half_step(r.dtype, want_high) * 1.001 + slack);
  }
  REQUIRE(std::memcmp(static_cast<const std::byte*>(turned) + r.bytes(at + 2 * half), r.qkv + r.bytes(from + 2 * half),
                      r.bytes(tail)) == 0);
}

void require_q(const Rows& r, bool numbers) {
  const std::int32_t heads = r.args.heads, dim = r.args.pool.dim;
  for (std::int32_t row = 0; row < r.bucket; ++row)
    for (std::int32_t head = 0; head < heads; ++head) {
      const std::int64_t at = (std::int64_t{row} * heads + head) * dim;
      const auto* bytes = r.q + r.bytes(at);
      if (row >= *r.rows)
        REQUIRE(std::all_of(bytes, bytes + r.bytes(dim), [](std::byte b) { return b == std::byte{0}; }));
      else if (numbers)
        require_turned(r, row, r.in(row, head), r.q, at);
    }
}

/// What stands where the test knows the rows' K to go; NaN for the others. The pool is of the rows' dtype.
std::vector<std::byte> stored_k(const Rows& r, bool numbers) {
  const KvPoolView& pool = r.args.pool;
  const std::int64_t width = std::int64_t{pool.kv_heads} * pool.dim;
  std::vector<std::byte> k(r.bytes(r.bucket * width), std::byte{0xFF});
  for (std::int32_t row = 0; row < r.bucket; ++row) {
    const std::int64_t slot = r.slot[static_cast<std::size_t>(row)];
    if (slot < 0 || row >= *r.rows) continue;
    const std::int64_t at = slot / kPageSize * 2 * kPageSize * width + slot % kPageSize * width;
    std::memcpy(k.data() + r.bytes(row * width), r.pool + r.bytes(at), r.bytes(width));
    for (std::int32_t head = 0; numbers && head < pool.kv_heads; ++head)
      require_turned(r, row, r.in(row, r.args.heads + head), r.pool, at + std::int64_t{head} * pool.dim);
  }
  return k;
}

/// The pool is to the byte what kv_append makes of those K and of qkv's V.
void require_appended(const Rows& r, const std::vector<std::byte>& k, const RopeAppendArgs& args) {
  const std::size_t width = r.bytes(std::int64_t{args.pool.kv_heads} * args.pool.dim);
  std::vector<std::byte> v, want(args.pool.bytes(), std::byte{0xFF});
  for (std::int32_t row = 0; row < r.bucket; ++row) {
    const std::byte* from = r.qkv + r.bytes(r.in(row, args.heads + args.pool.kv_heads));
    v.insert(v.end(), from, from + width);
  }
  KvPoolView pool = args.pool;
  pool.data = want.data();
  kv_append.host({.k = k.data(),
                  .v = v.data(),
                  .input_dtype = r.dtype,
                  .pool = pool,
                  .batch = args.batch,
                  .k_scale = args.k_scale,
                  .v_scale = args.v_scale});
  REQUIRE(std::memcmp(r.pool, want.data(), want.size()) == 0);
}

/// Into a pool of the rows' dtype, and then into the others: their K is that one's, encoded.
void run_into_all(const RunOp<RopeAppendArgs>& run, Rows& r, bool numbers) {
  std::vector<std::byte> k;
  for (const Dtype kv : {r.dtype, Dtype::e4m3, r.dtype == Dtype::fp16 ? Dtype::bf16 : Dtype::fp16}) {
    CAPTURE(to_string(r.dtype), to_string(kv));
    RopeAppendArgs args = r.args;
    args.pool.dtype = kv;
    r.scales[0] = kv == Dtype::e4m3 ? 0.3f : 1.0f, r.scales[1] = kv == Dtype::e4m3 ? 0.07f : 1.0f;
    std::memset(r.pool, 0xFF, r.args.pool.bytes());
    run(args, r.memory);
    require_q(r, numbers);
    if (kv == r.dtype) k = stored_k(r, numbers);
    require_appended(r, k, args);
  }
}

}  // namespace

void rope_append_cases(const RunOp<RopeAppendArgs>& run) {
  Rng rng(fresh_seed());
  // 8 pairs a thread, more of them than threads, tails, pairs one by one, and more turns than threads.
  const Shape shapes[] = {{8, 2, 128, 128}, {40, 1, 128, 128}, {3, 1, 64, 32},    {2, 2, 10, 6},
                          {1, 1, 2, 2},     {5, 1, 100, 96},   {1, 1, 1032, 1024}};
  for (const Dtype dtype : kHalves)
    for (const Shape& shape : shapes)
      for (const double theta : {10'000.0, 500'000.0}) {
        CAPTURE(shape.heads, shape.dim, shape.rotary_dim, theta);
        // The last two are pad rows, and -3 is no token.
        Rows r(dtype, shape, theta, {0, 1, -3, 4095, 131'071, 999'983, 1 << 20, 7, 1 << 20}, 7);
        r.token_to_req[3] = 1;
        for (const std::int32_t row : {0, 1, 3, 4, 5, 6}) r.put_page(row, row == 1 ? 8 : 8 - row);
        fill_numbers(r, rng);
        run_into_all(run, r, true);
        if (theta != 10'000.0) continue;
        fill_bits(r, rng);
        run_into_all(run, r, false);
      }
}

void rope_append_bad_rows(const RunOp<RopeAppendArgs>& run) {
  Rng rng(fresh_seed());
  Rows r(Dtype::bf16, {4, 2, 64, 64}, 10'000, std::vector<std::int64_t>(16), 16);
  for (std::int32_t row = 0; row < 16; ++row) r.query_pos[row] = 64 * row;  // a page of its own
  const std::int32_t pages[] = {0, -1, INT_MIN, INT_MAX, static_cast<std::int32_t>(kPages)};
  for (std::int32_t i = 0; i < 5; ++i) r.page_table[r.query_pos[i] / kPageSize] = pages[i];
  const std::int32_t requests[] = {-1, kRequests, INT_MAX, INT_MIN};
  for (std::int32_t i = 0; i < 4; ++i) r.token_to_req[5 + i] = requests[i];
  r.seq_len[0] = 64 * 14;  // rows 14 and 15 lie past it, and so they would were their pages fine
  for (std::int32_t row = 9; row < 16; ++row) r.put_page(row, row - 8);
  r.slot[14] = r.slot[15] = -1;
  for (const std::int64_t position : {std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    r.query_pos[12] = position;
    r.slot[12] = -1;
    for (const std::int32_t rows : {-3, 0, 5, 11, 16, 99}) {
      CAPTURE(position, rows);
      *r.rows = rows;
      fill_bits(r, rng);
      run_into_all(run, r, false);
    }
  }
}

}  // namespace refrain::test
