#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/host_twins.hpp"
#include "kernels/page_split.hpp"

namespace refrain {
namespace {

void mark_row(const PageSplitArgs& args, std::int32_t row) {
  const std::int32_t* indices = args.indices + std::int64_t{row} * args.topk;
  const std::int32_t count = args.lengths == nullptr ? args.topk : std::min(args.lengths[row], args.topk);
  for (std::int32_t i = 0; i < count; ++i)
    if (indices[i] >= 0 && indices[i] < args.source.slots()) args.touched[indices[i] / kSplitSourceTokens] = 1;
}

bool inside(const MlaPoolView& pool, std::int64_t offset) {
  return offset >= 0 && offset + pool.page_bytes() <= static_cast<std::int64_t>(pool.bytes());
}

/// A quarter of a source page to its scratch page: 64 tokens of data, and their footers from the source's footer part.
void copy_part(const PageSplitArgs& args, std::int64_t page, std::int32_t part) {
  const std::int64_t from = split_page_offset(page, args.source.page_bytes(), args.int32_offsets);
  const std::int64_t to = split_page_offset(page * kSplitParts + part, args.scratch.page_bytes(), args.int32_offsets);
  if (!inside(args.source, from) || !inside(args.scratch, to)) return;  // with the fault alone
  const std::byte* source = args.source.data + from;
  std::byte* target = args.scratch.data + to;
  const std::int64_t token = std::int64_t{part} * kSplitTokens;
  std::memcpy(target, source + args.source.record_offset(token),
              static_cast<std::size_t>(kSplitTokens * args.source.record_bytes()));
  std::memcpy(target + args.scratch.footer_offset(0), source + args.source.footer_offset(token),
              static_cast<std::size_t>(kSplitTokens * kMlaFooterBytes));
}

}  // namespace

void page_split_host(const PageSplitArgs& args) {
  if (args.zero_touched) std::memset(args.touched, 0, static_cast<std::size_t>(args.source.pages));
  if (args.zero_page0) std::memset(args.scratch.data, 0, static_cast<std::size_t>(args.scratch.page_bytes()));
  const std::int32_t rows = std::clamp(*args.real_rows, 0, args.rows);
  for (std::int32_t row = 0; row < rows; ++row) mark_row(args, row);
  for (std::int64_t page = 1; page < args.source.pages; ++page)
    for (std::int32_t part = 0; args.touched[page] != 0 && part < kSplitParts; ++part) copy_part(args, page, part);
}

}  // namespace refrain
