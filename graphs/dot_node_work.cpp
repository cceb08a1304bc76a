// What the memcpy, memset, alloc and free nodes of a dump say, in the long form
// of its record labels and in the short one, `(HtoD,2048)`.
#include <algorithm>

#include <fmt/format.h>

#include "graphs/dot_node.hpp"
#include "graphs/text.hpp"

namespace refrain {
namespace {

// One side of `HOST PAGEABLE to DEVICE`.
MemorySpace space_of(std::string_view words) {
  const auto has = [words](std::string_view word) { return words.find(word) != std::string_view::npos; };
  if (has("MANAGED") || has("UNIFIED")) return MemorySpace::managed;
  if (has("PAGEABLE")) return MemorySpace::pageable;
  if (has("PINNED")) return MemorySpace::pinned;
  if (has("DEVICE") || has("ARRAY")) return MemorySpace::device;
  return MemorySpace::unknown;
}

// One side of `HtoD`: D device, A array, P peer; H says host and not which kind of host memory.
MemorySpace space_of(char letter) {
  return letter == 'D' || letter == 'A' || letter == 'P' ? MemorySpace::device : MemorySpace::unknown;
}

// `HtoD (HOST PAGEABLE to DEVICE)`, or `HtoD` alone.
void set_spaces(CopyInfo& copy, std::string_view kind) {
  constexpr std::string_view kTo = " to ";
  if (const std::size_t open = kind.find('('); open != std::string_view::npos) {
    const std::string_view words = kind.substr(open + 1);
    const std::size_t to = words.find(kTo);
    if (to != std::string_view::npos) {
      copy.src_space = space_of(words.substr(0, to));
      copy.dst_space = space_of(words.substr(to + kTo.size()));
    }
  }
  const std::size_t to = kind.find("to");
  if (to != 1 || kind.size() < 4) return;
  if (copy.src_space == MemorySpace::unknown) copy.src_space = space_of(kind[0]);
  if (copy.dst_space == MemorySpace::unknown) copy.dst_space = space_of(kind[3]);
}

bool spaces_known(const CopyInfo& copy) {
  return copy.src_space != MemorySpace::unknown && copy.dst_space != MemorySpace::unknown;
}

// `(a,b)` into its two halves.
bool split_pair(std::string_view text, std::string_view& first, std::string_view& second) {
  const std::size_t comma = text.find(',');
  if (!text.starts_with('(') || !text.ends_with(')') || comma == std::string_view::npos) return false;
  first = trim(text.substr(1, comma - 1));
  second = trim(text.substr(comma + 1, text.size() - comma - 2));
  return true;
}

}  // namespace

std::uint64_t DotNodeReader::product(std::uint64_t a, std::uint64_t b) const {
  if (a != 0 && b > (kDotSizeEnd - 1) / a)
    fail("a size below 2^63 in all dimensions together", fmt::format("{} x {}", a, b));
  return a * b;
}

void DotNodeReader::read_memcpy(DotNodeReading& out) {
  const auto kind = label_.value("kind");
  const auto pointers = label_.row_of("srcPtr");
  const auto width = label_.after("Width");
  CopyInfo copy;
  if (kind) set_spaces(copy, *kind);
  // {srcPtr | dstPtr}, then {pitch | ptr | xsize | ysize} twice, then the values of those eight.
  if (pointers.size() >= 18) {
    const auto values = pointers.last(8);
    const auto src = parse_unsigned(values[1]);
    const auto dst = parse_unsigned(values[5]);
    if (!src || !dst) fail("srcPtr and dstPtr as addresses of at most 64 bits", src ? values[5] : values[1]);
    copy.src = *src;
    copy.dst = *dst;
  }
  if (width) {
    copy.bytes = number(*width, "a width", kDotSizeEnd);
    for (const char* side : {"Height", "Depth"})
      if (const auto length = label_.after(side))
        copy.bytes = product(copy.bytes, std::max<std::uint64_t>(1, number(*length, "an extent", kDotSizeEnd)));
  }
  out.address_missing = pointers.empty();
  out.copy_kind_missing = !spaces_known(copy);
  if (kind || width || !pointers.empty()) out.node.copy = copy;
}

// `(HtoD,2048)`
void DotNodeReader::read_short_memcpy(DotNodeReading& out, std::string_view text) {
  std::string_view kind, bytes;
  out.address_missing = true;
  out.copy_kind_missing = true;
  if (!split_pair(text, kind, bytes)) return;
  CopyInfo copy;
  set_spaces(copy, kind);
  copy.bytes = number(bytes, "a size", kDotSizeEnd);
  out.copy_kind_missing = !spaces_known(copy);
  out.node.copy = copy;
}

void DotNodeReader::read_memset(DotNodeReading& out) {
  const auto dst = label_.value("dptr");
  const auto width = label_.value("width");
  out.address_missing = !dst;
  if (!dst || !width) return;
  FillInfo fill;
  const auto address = parse_unsigned(*dst);
  if (!address) fail("dptr as an address of at most 64 bits", *dst);
  fill.dst = *address;
  fill.value = static_cast<std::uint32_t>(number(label_.value("value").value_or("0"), "a value", kDotWordEnd));
  fill.element_bytes =
      static_cast<std::uint32_t>(number(label_.value("elementSize").value_or("1"), "an element's size", kDotWordEnd));
  const std::uint64_t height = number(label_.value("height").value_or("1"), "a height", kDotSizeEnd);
  const std::uint64_t row = product(number(*width, "a width", kDotSizeEnd), fill.element_bytes);
  fill.bytes = product(row, std::max<std::uint64_t>(1, height));
  out.node.fill = fill;
}

// `(value,bytes)`
void DotNodeReader::read_short_memset(DotNodeReading& out, std::string_view text) {
  std::string_view value, bytes;
  out.address_missing = true;
  if (!split_pair(text, value, bytes)) return;
  FillInfo fill;
  fill.value = static_cast<std::uint32_t>(number(value, "a value", kDotWordEnd));
  fill.bytes = number(bytes, "a size", kDotSizeEnd);
  out.node.fill = fill;
}

void DotNodeReader::read_allocation(DotNodeReading& out) {
  const auto address = label_.value("dptr");
  out.address_missing = !address;
  if (!address) return;
  AllocationInfo allocation;
  const auto value = parse_unsigned(*address);
  if (!value) fail("dptr as an address of at most 64 bits", *address);
  allocation.address = *value;
  if (const auto bytes = label_.value("bytesize")) allocation.bytes = number(*bytes, "a size", kDotSizeEnd);
  out.node.allocation = allocation;
}

}  // namespace refrain
