// What page_split tells the audit, as it should be and with each of its faults.
#include <algorithm>

#include "kernels/page_split.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

// Addresses that nobody dereferences: a contract is arithmetic.
constexpr Address kSource = 0x700000000000, kScratch = 0x600000000000, kTouched = 0x500000000000;

PageSplitArgs split_of(std::int64_t pages) {
  PageSplitArgs args;
  args.source = {reinterpret_cast<std::byte*>(kSource), pages, 256, MlaRecord::e4m3_584};
  args.scratch = {reinterpret_cast<std::byte*>(kScratch), 4 * pages, 64, MlaRecord::e4m3_584};
  args.indices = reinterpret_cast<const std::int32_t*>(Address{0x1000});
  args.lengths = reinterpret_cast<const std::int32_t*>(Address{0x2000});
  args.real_rows = reinterpret_cast<const std::int32_t*>(Address{0x3000});
  args.touched = reinterpret_cast<std::uint8_t*>(kTouched);
  args.rows = 3, args.topk = 5;
  return args;
}

/// First and one past the last byte.
struct Span {
  Address begin, end;
  bool exact;
  friend bool operator==(const Span&, const Span&) = default;
};

std::vector<Span> spans(const Contract& contract, Mode mode) {
  std::vector<Span> out;
  for (const Access& access : contract.accesses)
    if (access.mode == mode)
      out.push_back({access.base + access.range.begin, access.base + access.range.end, access.reach == Reach::exact});
  std::sort(out.begin(), out.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return out;
}

}  // namespace

TEST_CASE("page_split contract: mask and page 0 are exact writes and the null block is not read") {
  const Contract contract = page_split.contract(split_of(9));
  CHECK(spans(contract, Mode::write) == std::vector<Span>{{kTouched, kTouched + 9, true},
                                                          {kScratch, kScratch + 37'440, true},
                                                          {kScratch + 4 * 37'440, kScratch + 36 * 37'440, false}});
  CHECK(spans(contract, Mode::read) == std::vector<Span>{{0x1000, 0x1000 + 3 * 5 * 4, true},
                                                         {0x2000, 0x2000 + 3 * 4, true},
                                                         {0x3000, 0x3000 + 4, true},
                                                         {kSource + 149'760, kSource + 9 * 149'760, false}});
  CHECK(spans(contract, Mode::read_write).empty());
  CHECK(contract.needs.empty());
  REQUIRE(contract.gives.size() == 1);
  CHECK(contract.gives[0].fact == Fact::zeroed);
  CHECK(contract.gives[0].base == kScratch);
  CHECK(contract.gives[0].range == ByteRange{0, 37'440});
  for (const Access& access : contract.accesses)
    if (access.mode == Mode::write) CHECK(access.role == Role::scratch);
}

TEST_CASE("page_split contract: without lengths none are read; the null block alone leaves no page to copy") {
  PageSplitArgs args = split_of(1);
  args.lengths = nullptr;
  const Contract contract = page_split.contract(args);
  CHECK(spans(contract, Mode::read) == std::vector<Span>{{0x1000, 0x1000 + 60, true}, {0x3000, 0x3000 + 4, true}});
  CHECK(spans(contract, Mode::write) ==
        std::vector<Span>{{kTouched, kTouched + 1, true}, {kScratch, kScratch + 37'440, true}});
}

TEST_CASE("page_split contract: a mask that the op does not clear must be zeroed when it begins") {
  PageSplitArgs args = split_of(9);
  args.zero_touched = false;
  const Contract contract = page_split.contract(args);
  CHECK(spans(contract, Mode::read_write) == std::vector<Span>{{kTouched, kTouched + 9, true}});
  REQUIRE(contract.needs.size() == 1);
  CHECK(contract.needs[0].fact == Fact::zeroed);
  CHECK(contract.needs[0].base == kTouched);
  CHECK(contract.needs[0].range == ByteRange{0, 9});
}

TEST_CASE("page_split contract: a page 0 that the op does not zero is neither written nor given") {
  PageSplitArgs args = split_of(9);
  args.zero_page0 = false;
  const Contract contract = page_split.contract(args);
  CHECK(contract.gives.empty());
  for (const Span& span : spans(contract, Mode::write))
    CHECK((span.begin == kTouched || span.begin == kScratch + 4 * 37'440));
}

TEST_CASE("page_split contract: 32-bit offsets change nothing while the pools end below 2^31") {
  PageSplitArgs args = split_of(14'339);  // the last scratch page is 57,355
  const auto right = page_split.contract(args);
  args.int32_offsets = true;
  const auto wrapped = page_split.contract(args);
  CHECK(spans(wrapped, Mode::write) == spans(right, Mode::write));
  CHECK(spans(wrapped, Mode::read) == spans(right, Mode::read));
}

TEST_CASE("page_split contract: 32-bit offsets beyond 2^31 name bytes far below the pools") {
  // Page 57,359 lies at 2,147,520,960, which wraps to -2,147,446,336, and 14,340 at 2,147,558,400, to -2,147,408,896.
  // The pools end with 57,363 (at 2,147,670,720, to -2,147,296,576) and 14,340 itself.
  PageSplitArgs args = split_of(14'341);
  args.int32_offsets = true;
  const Contract contract = page_split.contract(args);
  const auto writes = spans(contract, Mode::write), reads = spans(contract, Mode::read);
  const Span below{kScratch - 2'147'446'336, kScratch - 2'147'296'576 + 37'440, false};
  const Span above{kScratch + 4 * 37'440, kScratch + 57'359ull * 37'440, false};
  CHECK(std::count(writes.begin(), writes.end(), below) == 1);
  CHECK(std::count(writes.begin(), writes.end(), above) == 1);
  CHECK(below.end < kScratch);
  const Span source_below{kSource - 2'147'408'896, kSource - 2'147'408'896 + 149'760, false};
  CHECK(std::count(reads.begin(), reads.end(), source_below) == 1);
}
