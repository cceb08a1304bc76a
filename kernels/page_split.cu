// Three kernels: clear the mask and page 0, mark the pages that the indices name,
// copy the marked ones. The copy's blocks look at 32 quarter pages at a time, so
// that a pool of which little is touched costs little. Marks of one page are equal
// stores, and every quarter has its own destination: no order matters.
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "kernels/launchers.hpp"
#include "kernels/page_split.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kThreads = 256;
constexpr std::int32_t kIndicesPerThread = 4;
constexpr std::int64_t kMaxBlocks = 2048;  ///< about two turns of 8 blocks an SM

template <class Word>
__global__ void __launch_bounds__(kThreads) page_split_clear_kernel(const PageSplitArgs args) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads + threadIdx.x,
                     step = std::int64_t{gridDim.x} * kThreads;
  if (args.zero_touched)
    for (std::int64_t page = first; page < args.source.pages; page += step) args.touched[page] = 0;
  if (args.zero_page0)
    for (std::int64_t i = first; i < args.scratch.page_bytes() / std::int64_t{sizeof(Word)}; i += step)
      reinterpret_cast<Word*>(args.scratch.data)[i] = Word{};
}

/// Many indices name one page, so a mark that stands is not stored again.
__device__ void mark(const PageSplitArgs& args, std::int32_t index) {
  if (index < 0 || index >= args.source.slots()) return;
  std::uint8_t* at = args.touched + index / kSplitSourceTokens;
  if (*at != 1) *at = 1;
}

template <bool kVector>
__global__ void __launch_bounds__(kThreads)
    page_split_mark_kernel(const PageSplitArgs args, std::int32_t blocks_per_row) {
  const auto row = static_cast<std::int32_t>(blockIdx.x) / blocks_per_row;
  if (row >= *args.real_rows) return;
  const std::int32_t count = args.lengths == nullptr ? args.topk : min(args.lengths[row], args.topk);
  const std::int32_t block = static_cast<std::int32_t>(blockIdx.x) % blocks_per_row;
  const std::int64_t first = (std::int64_t{block} * kThreads + threadIdx.x) * kIndicesPerThread;
  const std::int32_t* indices = args.indices + std::int64_t{row} * args.topk;
  if (kVector && first + kIndicesPerThread <= count) {
    const int4 four = *reinterpret_cast<const int4*>(indices + first);
    mark(args, four.x), mark(args, four.y), mark(args, four.z), mark(args, four.w);
  } else {
    for (std::int64_t i = first; i < first + kIndicesPerThread && i < count; ++i) mark(args, indices[i]);
  }
}

__device__ bool inside(const MlaPoolView& pool, std::int64_t offset) {
  return offset >= 0 && offset + pool.page_bytes() <= static_cast<std::int64_t>(pool.bytes());
}

/// By all threads of the block. A batch is loaded whole before it is stored: the compiler can't know that the two
/// pools are different memory.
template <class Word>
__device__ void copy_words(Word* to, const Word* from, std::int32_t words) {
  constexpr std::int32_t kBatch = 9;  ///< 2,304 vectors of 16 bytes, a quarter's data, in one go
  for (auto first = static_cast<std::int32_t>(threadIdx.x); first < words; first += kBatch * kThreads) {
    Word held[kBatch];
#pragma unroll
    for (std::int32_t i = 0; i < kBatch; ++i)
      if (first + i * kThreads < words) held[i] = from[first + i * kThreads];
#pragma unroll
    for (std::int32_t i = 0; i < kBatch; ++i)
      if (first + i * kThreads < words) to[first + i * kThreads] = held[i];
  }
}

/// `quarter` is the scratch page: 4 * source page + part.
template <class Word>
__device__ void copy_quarter(const PageSplitArgs& args, std::int64_t quarter) {
  constexpr auto kWord = std::int64_t{sizeof(Word)};
  const std::int64_t from = split_page_offset(quarter / kSplitParts, args.source.page_bytes(), args.int32_offsets);
  const std::int64_t to = split_page_offset(quarter, args.scratch.page_bytes(), args.int32_offsets);
  if (!inside(args.source, from) || !inside(args.scratch, to)) return;  // with the fault alone
  const std::int64_t token = quarter % kSplitParts * kSplitTokens;
  const auto* data = reinterpret_cast<const Word*>(args.source.data + from + args.source.record_offset(token));
  const auto* footers = reinterpret_cast<const Word*>(args.source.data + from + args.source.footer_offset(token));
  auto* target = reinterpret_cast<Word*>(args.scratch.data + to);
  auto* target_footers = reinterpret_cast<Word*>(args.scratch.data + to + args.scratch.footer_offset(0));
  const auto words = static_cast<std::int32_t>(kSplitTokens * args.source.record_bytes() / kWord);
  copy_words(target, data, words);
  copy_words(target_footers, footers, static_cast<std::int32_t>(kSplitTokens * kMlaFooterBytes / kWord));
}

template <class Word>
__global__ void __launch_bounds__(kThreads) page_split_copy_kernel(const PageSplitArgs args) {
  constexpr unsigned kAll = ~0u;
  const std::int64_t quarters = args.scratch.pages, step = gridDim.x;
  // Quarters of page 0 stay out. Every warp of the block looks at the same 32 marks.
  for (std::int64_t turn = kSplitParts + blockIdx.x; turn < quarters; turn += 32 * step) {
    const std::int64_t mine = turn + threadIdx.x % 32 * step;
    unsigned marked = __ballot_sync(kAll, mine < quarters && args.touched[mine / kSplitParts] != 0);
    for (; marked != 0; marked &= marked - 1)
      copy_quarter<Word>(args, turn + (__ffs(static_cast<int>(marked)) - 1) * step);
  }
}

template <class Word>
void launch_clear(const PageSplitArgs& args, cudaStream_t stream) {
  const std::int64_t words = args.scratch.page_bytes() / static_cast<std::int64_t>(sizeof(Word));
  const std::int64_t blocks = (std::max(words, args.source.pages) + kThreads - 1) / kThreads;
  page_split_clear_kernel<Word><<<static_cast<unsigned>(std::min(blocks, kMaxBlocks)), kThreads, 0, stream>>>(args);
}

void launch_mark(const PageSplitArgs& args, cudaStream_t stream) {
  constexpr std::int32_t kPerBlock = kThreads * kIndicesPerThread;
  const std::int32_t blocks_per_row = (args.topk - 1) / kPerBlock + 1;
  assert(std::int64_t{args.rows} * blocks_per_row <= INT32_MAX);
  const auto grid = static_cast<unsigned>(args.rows * blocks_per_row);
  const bool vector =
      args.topk % kIndicesPerThread == 0 && reinterpret_cast<std::uintptr_t>(args.indices) % sizeof(int4) == 0;
  vector ? page_split_mark_kernel<true><<<grid, kThreads, 0, stream>>>(args, blocks_per_row)
         : page_split_mark_kernel<false><<<grid, kThreads, 0, stream>>>(args, blocks_per_row);
}

template <class Word>
void launch_copy(const PageSplitArgs& args, cudaStream_t stream) {
  if (args.source.pages == 1) return;  // the null block alone; a grid of 0 blocks is an error
  const auto grid = static_cast<unsigned>(std::min(args.scratch.pages - kSplitParts, kMaxBlocks));
  page_split_copy_kernel<Word><<<grid, kThreads, 0, stream>>>(args);
}

template <class Word>
void launch(const PageSplitArgs& args, cudaStream_t stream) {
  if (args.zero_touched || args.zero_page0) launch_clear<Word>(args, stream);
  launch_mark(args, stream);
  launch_copy<Word>(args, stream);
}

}  // namespace

void page_split_launch(const PageSplitArgs& args, void* stream) {
  assert(args.source.record == MlaRecord::e4m3_584 && args.scratch.record == MlaRecord::e4m3_584);
  assert(args.source.page_size == kSplitSourceTokens && args.scratch.page_size == kSplitTokens);
  assert(args.source.pages > 0 && args.scratch.pages == args.source.pages * kSplitParts);
  assert(args.rows > 0 && args.topk > 0);
  const auto on = static_cast<cudaStream_t>(stream);
  // Page strides and the parts of a page are multiples of 16, so the pools' first bytes decide.
  const auto at =
      reinterpret_cast<std::uintptr_t>(args.source.data) | reinterpret_cast<std::uintptr_t>(args.scratch.data);
  at % sizeof(uint4) == 0 ? launch<uint4>(args, on) : launch<std::uint8_t>(args, on);
}

}  // namespace refrain
